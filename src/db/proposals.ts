import { findRecord, selectRecords, updateRecord } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ProposalRecord = Omit<RecordOf<'skill_proposals'>, 'network'>

function withoutNetwork({ network: _, ...proposal }: RecordOf<'skill_proposals'>): ProposalRecord {
  return proposal
}

export async function listProposals(
  db: Db,
  status: ProposalRecord['status'],
  limit: number,
): Promise<readonly ProposalRecord[]> {
  const rows = await selectRecords(db, 'skill_proposals', { status })
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(withoutNetwork)
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
  const isDecided = await updateRecord(db, 'skill_proposals', { id, status: 'pending' }, verdict)
  const row = isDecided ? await findRecord(db, 'skill_proposals', { id }) : null
  return row === null ? null : withoutNetwork(row)
}
