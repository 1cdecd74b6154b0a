import { stringsFromJsonText, toJsonText } from './json.ts'
import { findRecord, insertRecord } from './records.ts'
import { columnsExcept } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

type Row = Omit<RecordOf<'skill_proposals'>, 'network'>

export interface ProposalRecord extends Omit<Row, 'surface'> {
  readonly surface: readonly string[]
}

export interface NewProposal extends Omit<ProposalRecord, 'status' | 'reason' | 'decidedAt'> {
  /** Keyed hash of the sender's network. */
  readonly network: string
}

const columns = columnsExcept('skill_proposals', 'network')

function toRecord(row: Row): ProposalRecord {
  return { ...row, surface: stringsFromJsonText(row.surface) }
}

export async function insertProposal(db: Db, proposal: NewProposal): Promise<void> {
  const pending = { status: 'pending', reason: null, decidedAt: null } as const
  const surface = toJsonText(proposal.surface)
  await insertRecord(db, 'skill_proposals', { ...proposal, surface, ...pending })
}

export async function listProposals(
  db: Db,
  status: ProposalRecord['status'],
  limit: number,
): Promise<readonly ProposalRecord[]> {
  const rows = await db
    .selectFrom('skill_proposals')
    .select(columns)
    .where('status', '=', status)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

export async function isAcceptedSlug(db: Db, slug: string): Promise<boolean> {
  return (await findRecord(db, 'skill_proposals', { slug, status: 'accepted' })) !== null
}

/** Null if not pending. Throws a unique violation for an already accepted slug. */
export async function decideProposal(
  db: Db,
  id: string,
  verdict: {
    readonly status: 'accepted' | 'rejected'
    readonly reason: string | null
    readonly decidedAt: string
  },
): Promise<ProposalRecord | null> {
  const row = await db
    .updateTable('skill_proposals')
    .set({ status: verdict.status, reason: verdict.reason, decided_at: verdict.decidedAt })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returning(columns)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}
