/** Senders are stored as keyed hashes whose key changes daily. */

import { selectRecords, findRecord, updateRecord } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type FeedbackRecord = Omit<RecordOf<'feedback'>, 'fingerprint' | 'textHash'>

export async function findDuplicate(
  db: Db,
  fingerprints: readonly string[],
  textHash: string,
  after: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('feedback')
    .select('id')
    .where('fingerprint', 'in', fingerprints)
    .where('created_at', '>', after)
    .where('text_hash', '=', textHash)
    .orderBy('created_at', 'desc')
    .executeTakeFirst()
  return row?.id ?? null
}

export async function listFeedback(db: Db, limit: number): Promise<readonly FeedbackRecord[]> {
  const rows = await selectRecords(db, 'feedback')
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ fingerprint: _, textHash: __, ...feedback }) => feedback)
}

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

/** Only a hash of an application's text is stored. */

export type ApplicationRecord = RecordOf<'applications'>

/** Returns the newest application with this message, else the newest with this key after `after`. */
export async function findApplication(
  db: Db,
  by: {
    readonly partner: string
    readonly messageSha256: string
    readonly key: string | null
    readonly after: string
  },
): Promise<ApplicationRecord | null> {
  const { partner } = by
  const own = selectRecords(db, 'applications', { partner }).orderBy('submitted_at', 'desc')
  const ofMessage = await own.where('message_sha256', '=', by.messageSha256).executeTakeFirst()
  if (ofMessage !== undefined || by.key === null) return ofMessage ?? null
  const ofKey = own.where('idempotency_key', '=', by.key).where('submitted_at', '>', by.after)
  return (await ofKey.executeTakeFirst()) ?? null
}
