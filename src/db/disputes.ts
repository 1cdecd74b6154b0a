/** Disputes and their steps. Each step is stored and queued for the log in one transaction. */
import { sql } from 'kysely'

import { sha256Hex } from '../auth/messages.ts'
import { disputeStates } from '../contract/schemas/dispute-state.ts'
import type { DisputeState } from '../contract/schemas/dispute-state.ts'
import { disputeStep } from '../contract/schemas/dispute.ts'
import type { Dispute, DisputeStep, DisputeTarget } from '../contract/schemas/dispute.ts'
import { canonicalize } from '../core/canonical-json.ts'
import { present } from '../core/entries.ts'
import { dayMs, isoTime } from '../core/time.ts'
import { toJsonText } from './json.ts'
import { countList } from './list-queries.ts'
import type { PageBounds, RowList } from './list-queries.ts'
import { queueEntries } from './log.ts'
import { findRecord, insertRecord, selectRecords, updateRecord } from './records.ts'
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
  withheld: disputeStates,
} as const satisfies Partial<Record<DisputeStep['event'], readonly DisputeState[]>>

/** At most one, by a unique index. */
export const undecidedDispute = (db: Db, wallet: string, target: DisputeTarget) =>
  selectRecords(db, 'disputes', { wallet, state: undecided })
    .where('target', '=', toJsonText(target))
    .executeTakeFirst()

/** `words`: what the disputer states, and whether the target is the current version. */
export async function openDispute(tx: Db, dispute: NewDispute, words: Partial<DisputeStep>) {
  const { id, display, target, openedAt } = dispute
  await insertRecord(tx, 'disputes', { ...dispute, state: 'open', updatedAt: openedAt })
  await addStep(tx, {
    step_id: `${id}/opened`,
    dispute_id: id,
    event: 'opened',
    at: openedAt,
    wallet: display,
    target,
    ...words,
  })
}

/** Returns false if the state of the dispute does not allow the step. `withheld` leaves the state, and occurs once. */
export async function followDispute(
  tx: Db,
  id: string,
  step: { readonly event: keyof typeof following; readonly at: string; readonly text?: string },
): Promise<boolean> {
  const { event, at: updatedAt } = step
  const stepId = `${id}/${event}`
  if ((await findRecord(tx, 'dispute_steps', { id: stepId })) !== null) return false
  const changes = event === 'withheld' ? { updatedAt } : { state: event, updatedAt }
  const isNext = await updateRecord(tx, 'disputes', { id, state: following[event] }, changes)
  if (isNext) await addStep(tx, { step_id: stepId, dispute_id: id, ...step })
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
  /** Id of a flag or receipt. */
  readonly target?: string
}

/** Those of subjects and upheld ones first, each newest first. */
export const disputeRows = (filter?: DisputeFilter): RowList<DisputeRecord> => ({
  name: 'disputes',
  read: (db, page) => inOrder(filtered(db, filter), page).execute(),
  count: (db) => countList(db, filtered(db, filter)),
})

function filtered(db: Db, { target, ...match }: DisputeFilter = {}) {
  const query = selectRecords(db, 'disputes', match)
  if (target === undefined) return query
  const stored = target.startsWith('flg_') ? { flag_id: target } : { receipt_id: target }
  return query.where('target', '=', toJsonText(stored))
}

function inOrder(query: ReturnType<typeof filtered>, { limit, before }: PageBounds) {
  const order = sql`(standing = 'subject' or state = 'upheld')`
  const last = sql`coalesce((select ${order} from disputes where seq = ${before}), true), ${before}`
  const rest = before === null ? query : query.where(sql<boolean>`(${order}, seq) < (${last})`)
  return rest.orderBy(order, 'desc').orderBy('seq', 'desc').limit(limit)
}

/** In the order of the records. `unanswered` follows from the time. */
export async function disputeViews(
  db: Db,
  records: readonly DisputeRecord[],
  nowMs: number,
): Promise<readonly Dispute[]> {
  if (records.length === 0) return []
  const ids = records.map(({ id }) => id)
  const stored = await selectRecords(db, 'dispute_steps', { disputeId: ids })
    .orderBy('seq')
    .execute()
  const before = isoTime(nowMs - answerMs)
  return records.map((record) => {
    const steps = shownSteps(stored.filter(({ disputeId }) => disputeId === record.id))
    const { text: claim, figure, evidence_url } = steps[0] ?? {}
    return {
      dispute_id: record.id,
      state: record.state,
      standing: record.standing,
      ...present({ rail: record.rail }),
      wallet: record.display,
      target: record.target,
      ...present({ claim, figure, evidence_url }),
      opened_at: record.openedAt,
      updated_at: record.updatedAt,
      ...(record.state === 'open' && record.openedAt <= before ? { unanswered: true } : {}),
      steps,
    }
  })
}

/** The hash of its entry replaces the words of a disputer that the operator has withheld. */
function shownSteps(stored: readonly RecordOf<'dispute_steps'>[]): DisputeStep[] {
  const isWithheld = stored.some(({ id }) => id.endsWith('/withheld'))
  return stored.map(({ content }) => {
    const step = disputeStep.parse(JSON.parse(content))
    if (!isWithheld || step.event !== 'opened') return step
    const { text: _, figure: __, evidence_url: ___, ...rest } = step
    return { ...rest, sha256: sha256Hex(content) }
  })
}
