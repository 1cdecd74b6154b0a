/** Checks invariants of writes at every change of the database and at every answer. */
import { isDeepStrictEqual } from 'node:util'

import type { PaidRead } from '../chain/world.ts'
import { headerOf } from '../http-call.ts'
import type { Answer } from '../http-call.ts'
import type { Kind, SimulatedRequest } from '../requests.ts'
import type { judged, Run } from '../run.ts'
import { violatedInvariants } from './invariants.ts'
import { createSnapshotReader } from './snapshot.ts'
import type { Change, Fields, Query, RowOf, Snapshot } from './snapshot.ts'

/** A request under way: a write, a read by id or a sold read. */
export interface Flight {
  readonly name: string
  readonly request: SimulatedRequest | null
  readonly paid: PaidRead | null
  /** True if a state explains the answer of a read. */
  readonly isShown: ((db: Snapshot, answer: Answer) => boolean) | null
  readonly nowMs: number
  readonly fromVersion: number
  /** Count of troubles when the machine was last undisturbed. */
  readonly troubles: number
}

type WriteFlight = Flight & { readonly request: SimulatedRequest }

const windowMs = 5 * 60_000

const answerTables: ReadonlySet<string> = new Set(['answers', 'used_messages', 'idempotency_keys'])

/** Their rows are never changed nor deleted. */
const appendOnly: ReadonlySet<string> = new Set([
  'receipts',
  'reputation_ledger',
  'oath_history',
  'events',
  'job_transitions',
  'job_deliveries',
  'subscription_changes',
  'polls',
  'feedback',
  'skill_proposals',
  'applications',
  'log_entries',
])

/** Only requests insert these rows. */
const ofRequests: ReadonlySet<string> = new Set([
  ...answerTables,
  'workers',
  'claims',
  'partners',
  'feedback',
  'skill_proposals',
  'applications',
  'alert_subscriptions',
  'oath_history',
  'jobs',
  'job_bids',
  'job_deliveries',
])

/** The builder never changes rows of these, and never deletes rows of requests. */
const ownWords: ReadonlySet<string> = new Set(['workers', 'claims'])

/** Changed by the service without a write of the API. */
const internal: ReadonlySet<string> = new Set(['payments', 'leases', 'meta'])

/** True for what no row contains: signatures, amounts, messages that are forwarded, and what a write deletes. */
function isUnstored(name: string, kind: Kind): boolean {
  const own: Partial<Record<Kind, string>> = { apply: 'message', unsubscribe: 'id' }
  return /_usdc$|signature$/.test(name) || own[kind] === name
}

/** The parts of a run that the verdict needs, in whatever processes the ledger runs. */
interface LedgerRun extends Pick<Run, 'log' | 'fail'> {
  readonly tally: Record<(typeof judged)[number], number>
  readonly machine: { readonly nowMs: () => number }
}

export interface Watcher {
  readonly observe: (
    changes: readonly Change[],
    states: { readonly before: Snapshot; readonly after: Snapshot },
  ) => void
}

export type LedgerVerdict = Awaited<ReturnType<typeof createLedgerVerdict>>

/** @param watchers judge the same changes; `answeredPaid` judges sold reads */
export async function createLedgerVerdict(
  { log, fail, tally, machine }: LedgerRun,
  query: Query,
  {
    watchers,
    answeredPaid,
  }: {
    readonly watchers: readonly Watcher[]
    readonly answeredPaid: (paid: PaidRead, answer: Answer) => 'bought' | 'refused' | 'later'
  },
) {
  const reader = await createSnapshotReader(query)
  let db = await reader.read(query)
  const versions: Snapshot[] = [db]
  const flights = new Set<Flight>()
  /** Requests that took effect, unless another one with the same bytes was open. */
  const effective = new Set<Flight>()
  const authorized = new Set<string>()
  const unanswered: Flight[] = []

  const isoNow = (): string => iso(machine.nowMs())

  /** @param isOfBuilder false for a write of the service, which must have been requested */
  function judge(after: Snapshot, changes: readonly Change[], isOfBuilder: boolean): void {
    const before = db
    const answers = after.answers.filter((row) => isNew(row, changes))
    for (const answer of answers) takeEffect(answer, { before, after })
    for (const change of changes) {
      const { table, before: old, after: row } = change
      const what = `${table}: ${JSON.stringify([old, row])}`
      if (old !== null && appendOnly.has(table)) fail(`a row of ${what} is not kept`)
      const isShorter = Number(row?.['size']) < Number(old?.['size'])
      if (table === 'log_checkpoints' && isShorter) fail(`the log has become shorter: ${what}`)
      if (answerTables.has(table) && old !== null) {
        const isOver = row === null && String(old['expires_at']) <= isoNow()
        if (!isOver) fail(`a stored answer has changed: ${what}`)
      }
      const isKept = !answerTables.has(table) && (row === null || ownWords.has(table))
      const isOfJob = !ofRequests.has(table) || (old !== null && !isKept)
      const isFree = isOfBuilder ? isOfJob : internal.has(table)
      if (answers.length === 0 && !isFree) fail(`nobody may make this change of ${what}`)
    }
    for (const { observe } of watchers) observe(changes, { before, after })
    db = after
    versions.push(after)
  }

  function takeEffect(
    answer: RowOf<'answers'>,
    { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
  ): void {
    const open = [...flights].filter(isWrite).filter(({ request, nowMs }) => {
      const isOwn = answerTo(after, request, iso(nowMs))?.id === answer.id
      return isOwn && request.sha256 === answer.request_sha256
    })
    const problems = open.map((one) => problemOf(one, answer, { before, after }))
    // Two requests with the same message may have other keys.
    const flight = open[Math.max(0, problems.indexOf(null))]
    if (flight === undefined) return fail(`nobody requested ${answer.answer}`)
    if (!problems.includes(null)) fail(`${flight.name} is in the ledger, and ${problems.join()}`)
    const { caller, messages } = flight.request
    for (const message of messages) authorized.add(`${caller} ${message}`)
    if (open.length === 1) effective.add(flight)
    log(`    ${flight.name} is in the ledger`)
  }

  function problemOf(
    { request, nowMs }: WriteFlight,
    answer: RowOf<'answers'>,
    { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
  ): string | null {
    const { isFalse, caller, messages, signedAtMs, key, kind, body } = request
    if (isFalse) return 'it is forged or altered'
    if (signedAtMs !== null && Math.abs(nowMs - signedAtMs) > windowMs) return 'signed too long ago'
    const isUsed = answerTo(before, request, iso(nowMs)) !== undefined
    if (isUsed || messages.some((one) => authorized.has(`${caller} ${one}`)))
      return 'its message or key was used'
    const guards = after.used_messages.filter((row) => row.answer_id === answer.id)
    const isGuarded = messages.every((one) => guards.some((row) => row.message_sha256 === one))
    if (!isGuarded) return 'its message may be used again'
    const keys = after.idempotency_keys.filter((row) => row.answer_id === answer.id)
    if (key !== null && !keys.some((row) => row.key === key)) return 'its key may be used again'
    const rows = Object.entries(after).filter(([table]) => !answerTables.has(table))
    const stored = JSON.stringify(rows).toLowerCase()
    const missing = Object.entries({ ...body, ...identifiers(parsed(answer)) }).find(
      ([name, value]) =>
        typeof value === 'string' &&
        !isUnstored(name, kind) &&
        !stored.includes(JSON.stringify(value).slice(1, -1).toLowerCase()),
    )
    return missing === undefined ? null : `no row has ${missing.join(' ')}`
  }

  function answered(flight: Flight, answer: Answer, isExcused: boolean): void {
    flights.delete(flight)
    const { status, body } = answer
    const code = typeof body['code'] === 'string' ? body['code'] : ''
    log(`${flight.name} is answered ${status} ${code}`)
    const { paid, isShown, name } = flight
    const isOpen = paid !== null && ['settlement_pending', 'payment_unavailable'].includes(code)
    if (status >= 500) {
      if (!isExcused && !isOpen) fail(`${name} was answered ${status} although nothing had failed`)
      if (headerOf(answer, 'payment-required') !== null) fail(`${name} must pay twice`)
      return giveUp(flight)
    }
    const window = versions.slice(flight.fromVersion)
    if (isShown !== null && !window.some((seen) => isShown(seen, answer)))
      fail(`${name}: no state has ${JSON.stringify(body)}`)
    if (paid !== null) {
      const outcome = answeredPaid(paid, answer)
      if (outcome === 'later') giveUp(flight)
      else tally[outcome] += 1
    }
    if (!isWrite(flight)) return
    if (status < 300) acknowledged(flight, answer, window)
    else refused(flight, answer, window)
  }

  /** What is acknowledged is stored with this very answer. */
  function acknowledged(
    { name, request, nowMs }: WriteFlight,
    { body }: Answer,
    window: readonly Snapshot[],
  ): void {
    // Neither is stored: secrets follow from ids, and promises from receipts.
    const { secret: _, log: promise, ...stored } = body
    const isReceipt = stored['rep_delta'] !== undefined
    if (isReceipt !== (promise !== undefined)) fail(`${name}: a receipt without its promise`)
    const isFirst = (seen: Snapshot | undefined): boolean => {
      const first = seen && answerTo(seen, request, iso(nowMs))
      return first?.request_sha256 === request.sha256 && isDeepStrictEqual(parsed(first), stored)
    }
    if (request.isFalse || !window.some(isFirst)) fail(`${name}: acknowledged, and not stored`)
    tally[isFirst(window[0]) ? 'repeats' : 'taken'] += 1
  }

  /** What is refused changes nothing, and is not what was acknowledged before. */
  function refused(flight: WriteFlight, { status }: Answer, [seen]: readonly Snapshot[]): void {
    const { name, request, nowMs } = flight
    const { signedAtMs, sha256, isFalse } = request
    if (effective.has(flight)) fail(`${name} took effect and was refused with ${status}`)
    const isTimely = signedAtMs === null || Math.abs(nowMs - signedAtMs) <= windowMs
    const known = seen && answerTo(seen, request, iso(nowMs))
    if (known?.request_sha256 === sha256 && isTimely && !isFalse)
      fail(`${name} repeats a write and is refused with ${status}`)
    tally.refused += 1
  }

  function giveUp(flight: Flight): void {
    tally.unanswered += 1
    unanswered.push(flight)
  }

  return {
    db: () => db,
    versions,
    flights: flights as ReadonlySet<Flight>,
    reader,
    begin: (flight: Pick<Flight, 'name' | 'nowMs' | 'troubles'> & Partial<Flight>): Flight => {
      const none = { request: null, paid: null, isShown: null }
      const begun = { ...none, ...flight, fromVersion: versions.length - 1 }
      tally.requests += 1
      flights.add(begun)
      return begun
    },
    /** `isExcused`: a fault occurred, so the ledger may answer 5xx. */
    answered,
    /** Open requests will not be answered. */
    cutOff: (): void => {
      for (const flight of flights) giveUp(flight)
      flights.clear()
    },
    takeUnanswered: () => unanswered.splice(0),
    /** Judges a commit; `between` has the states after each write of the transaction but the last. */
    observe: async (
      ask: Query,
      between: readonly Snapshot[],
      isOfBuilder: (changes: readonly Change[]) => boolean,
    ): Promise<void> => {
      for (const after of [...between, await reader.read(ask)]) {
        const changes = reader.changes(db, after)
        if (changes.length > 0) judge(after, changes, isOfBuilder(changes))
      }
    },
    /** The file must contain what was last committed, and violate no invariant. */
    examine: async (ask: Query): Promise<void> => {
      const [change] = reader.changes(db, await reader.read(ask))
      if (change !== undefined) fail(`the file has lost or changed: ${JSON.stringify(change)}`)
      for (const violation of await violatedInvariants(ask)) fail(`in the file: ${violation}`)
    },
    /** A backup was restored: the file must contain it, and the time of the restore. */
    restore: async (ask: Query, backup: Snapshot): Promise<void> => {
      const restored = await reader.read(ask)
      const other = reader.changes(backup, restored).find(({ table }) => table !== 'meta')
      if (other !== undefined) fail(`the restored file differs: ${JSON.stringify(other)}`)
      db = restored
      versions.push(restored)
    },
  }
}

function isWrite(flight: Flight): flight is WriteFlight {
  return flight.request !== null
}

function isNew(answer: RowOf<'answers'>, changes: readonly Change[]): boolean {
  return changes.some(
    ({ table, before, after }) =>
      table === 'answers' &&
      before === null &&
      after?.['id'] === answer.id &&
      after['expires_at'] === answer.expires_at,
  )
}

/** The stored answer to a message or a key; of another request, if that has used them. */
function answerTo(
  { answers, used_messages: used, idempotency_keys: keys }: Snapshot,
  { messages, caller, key }: SimulatedRequest,
  now: string,
): RowOf<'answers'> | undefined {
  const row =
    used.find((one) => one.wallet === caller && messages.includes(one.message_sha256)) ??
    keys.find((one) => one.caller === caller && one.key === key && one.expires_at > now)
  return answers.find(({ id }) => id === row?.answer_id)
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

function parsed({ answer }: Pick<RowOf<'answers'>, 'answer'>): Fields {
  const body: unknown = JSON.parse(answer)
  return { ...(typeof body === 'object' ? body : null) }
}

/** Members of an answer that name rows. */
function identifiers(answer: Fields): Fields {
  return Object.fromEntries(
    Object.entries(answer).filter(([name]) => name === 'handle' || /^(?:\w+_)?id$/.test(name)),
  )
}
