/** Disputes and their steps. Each step is stored and queued for the log in one transaction. */
import { sha256Hex } from '../auth/messages.ts'
import type { DisputeState } from '../contract/schemas/dispute-state.ts'
import { disputeStep } from '../contract/schemas/dispute.ts'
import type { Dispute, DisputeStep, DisputeTarget } from '../contract/schemas/dispute.ts'
import { canonicalize } from '../core/canonical-json.ts'
import { present } from '../core/entries.ts'
import { dayMs, isoTime } from '../core/time.ts'
import { toJsonText } from './json.ts'
import { countList, newestFirst } from './list-queries.ts'
import type { RowList } from './list-queries.ts'
import { queueEntries } from './log.ts'
import { insertRecord, selectRecords, updateRecord } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type DisputeRecord = RecordOf<'disputes'>
export type NewDispute = Omit<NewRecordOf<'disputes'>, 'seq' | 'state' | 'updatedAt'>

const answerMs = 14 * dayMs
const undecided: readonly DisputeState[] = ['open', 'answered']
const following = {
  answered: ['open'],
  upheld: undecided,
  rejected: undecided,
  withdrawn: undecided,
} as const satisfies Partial<Record<DisputeState, readonly DisputeState[]>>

export async function hasUndecided(
  tx: Db,
  wallet: string,
  target: DisputeTarget,
): Promise<boolean> {
  const found = selectRecords(tx, 'disputes', { wallet, state: undecided })
  return (await found.where('target', '=', toJsonText(target)).execute()).length > 0
}

export async function openDispute(tx: Db, dispute: NewDispute): Promise<void> {
  const { id, display, target, claim, figure, evidenceUrl, openedAt } = dispute
  await insertRecord(tx, 'disputes', { ...dispute, state: 'open', updatedAt: openedAt })
  await addStep(tx, {
    step_id: `${id}/opened`,
    dispute_id: id,
    event: 'opened',
    at: openedAt,
    text: claim,
    wallet: display,
    target,
    ...present({ figure, evidence_url: evidenceUrl }),
  })
}

/** Returns false if the state of the dispute does not allow the step. */
export async function followDispute(
  tx: Db,
  id: string,
  step: { readonly event: keyof typeof following; readonly at: string; readonly text?: string },
): Promise<boolean> {
  const { event: state, at: updatedAt } = step
  const isNext = await updateRecord(
    tx,
    'disputes',
    { id, state: following[state] },
    { state, updatedAt },
  )
  if (isNext) await addStep(tx, { step_id: `${id}/${state}`, dispute_id: id, ...step })
  return isNext
}

async function addStep(tx: Db, step: DisputeStep): Promise<void> {
  const { step_id: id, dispute_id: disputeId, at: createdAt } = step
  const content = canonicalize(step)
  await insertRecord(tx, 'dispute_steps', { id, disputeId, content, createdAt })
  const sha256 = sha256Hex(content)
  await queueEntries(tx, [{ kind: 'dispute', id, sha256, subject: disputeId }])
}

export interface DisputeFilter {
  readonly state?: DisputeState
  readonly rail?: string
  readonly target?: DisputeTarget
}

export const disputeRows = (filter?: DisputeFilter): RowList<DisputeRecord> => ({
  name: 'disputes',
  read: (db, page) => newestFirst(filtered(db, filter), page).execute(),
  count: (db) => countList(db, filtered(db, filter)),
})

function filtered(db: Db, { target, ...match }: DisputeFilter = {}) {
  const query = selectRecords(db, 'disputes', match)
  return target === undefined ? query : query.where('target', '=', toJsonText(target))
}

/** In the order of the records. `unanswered` follows from the time. */
export async function disputeViews(
  db: Db,
  records: readonly DisputeRecord[],
  nowMs: number,
): Promise<readonly Dispute[]> {
  if (records.length === 0) return []
  const ids = records.map(({ id }) => id)
  const steps = await selectRecords(db, 'dispute_steps', { disputeId: ids })
    .orderBy('seq')
    .execute()
  const before = isoTime(nowMs - answerMs)
  return records.map((record) => ({
    dispute_id: record.id,
    state: record.state,
    standing: record.standing,
    ...present({ rail: record.rail }),
    wallet: record.display,
    target: record.target,
    claim: record.claim,
    ...present({ figure: record.figure, evidence_url: record.evidenceUrl }),
    opened_at: record.openedAt,
    updated_at: record.updatedAt,
    ...(record.state === 'open' && record.openedAt <= before ? { unanswered: true as const } : {}),
    steps: steps
      .filter(({ disputeId }) => disputeId === record.id)
      .map(({ content }) => disputeStep.parse(JSON.parse(content))),
  }))
}
