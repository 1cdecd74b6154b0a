/** Checks every change of the database and every answer. */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { webhookSecret } from '../../../src/outbound/standard-webhook.ts'
import type { Answer } from '../http-call.ts'
import type { PaidRead } from '../requests/reads.ts'
import type { SimulatedRequest } from '../requests/request.ts'
import type { Run } from '../run.ts'
import { effects, findEffectProblem, findForbidden, findMismatch, jobWrites } from './effects.ts'
import type { Outcome, Writes } from './effects.ts'
import type { Emails } from './emails.ts'
import { dayMs, iso, minuteMs } from './facts.ts'
import { isPaid } from './flight.ts'
import type { Flight, PaidFlight } from './flight.ts'
import { violatedInvariants } from './invariants.ts'
import type { PaymentsOracle } from './payments.ts'
import { answerTo, verdictOf } from './rules.ts'
import type { Circumstance } from './rules.ts'
import { createSnapshotReader } from './snapshot.ts'
import type { Change, Fields, Query, Snapshot } from './snapshot.ts'
import type { WebhooksOracle } from './webhooks.ts'

/** A request that took effect; one of its senders may receive the first answer. */
interface FirstAnswer extends Outcome {
  readonly flights: ReadonlySet<Flight>
  isReceived: boolean
}

export interface RunningJob {
  readonly kind: string
  readonly nowMs: number
}

type WriteFlight = Flight & { readonly request: SimulatedRequest }

const answerTables: ReadonlySet<string> = new Set(['answers', 'used_messages', 'idempotency_keys'])

/** How long the guard against a repeated message must last after its signed time. */
const guardMs = 10 * minuteMs

/** Tables whose changes have an oracle of their own, and the record of the builder's jobs. */
const watched = new Set([
  'payments',
  'email_codes',
  'email_sends',
  'alert_deliveries',
  'meta',
  'leases',
  'job_runs',
  'log_entries',
  'log_tiles',
  'log_checkpoints',
])

const kindIn = (row: Fields | null): string | undefined =>
  row === null ? undefined : String(row['kind'])

/** The parts of a run that the oracle needs, in whatever processes the ledger runs. */
export interface LedgerRun extends Pick<Run, 'log' | 'fail' | 'tally'> {
  readonly installation: Pick<Run['installation'], 'keyedHash'>
}

export type LedgerOracle = Awaited<ReturnType<typeof createLedgerOracle>>

export async function createLedgerOracle(
  { log, fail, tally, installation }: LedgerRun,
  query: Query,
  {
    payments,
    webhooks,
    emails,
  }: {
    readonly payments: Pick<PaymentsOracle, 'observe' | 'answered'>
    readonly webhooks: Pick<WebhooksOracle, 'observe' | 'restore'>
    readonly emails: Pick<Emails, 'observe' | 'checkCounted'>
  },
) {
  const reader = await createSnapshotReader(query)
  let db = await reader.read(query)
  const versions: Snapshot[] = [db]
  const firstAnswers: FirstAnswer[] = []
  const effective = new Set<Flight>()
  const flights = new Set<Flight>()
  const unsettled: SimulatedRequest[] = []
  const unserved: PaidRead[] = []

  const writes = (): readonly WriteFlight[] => [...flights].filter(isWrite)

  const circumstanceOf = ({ request, nowMs }: WriteFlight, of: Snapshot): Circumstance => ({
    db: of,
    request,
    nowMs,
  })

  function explain(after: Snapshot, changes: readonly Change[], job: RunningJob | null): void {
    const before = db
    const taken = effectsIn(before, after, changes)
    const allowed: Writes[] = taken.map(({ request }) => effects[request.kind].writes)
    if (job !== null) allowed.push(jobWrites[job.kind] ?? {})
    for (const change of changes) {
      const { table } = change
      if (watched.has(table) || isAnswer(change, after, taken) || isLostRace(change)) continue
      if (isSequencing(change)) continue
      const problems = allowed.map((one) => findForbidden(change, one))
      if (problems.includes(null)) continue
      const rows = JSON.stringify([change.before, change.after])
      fail(`${problems.at(-1) ?? `a change of ${table}`} that nobody may make: ${rows}`)
    }
    if (job?.kind === 'tidy') checkExpired(changes, job.nowMs)
    payments.observe(changes, [...flights].filter(isPaid))
    webhooks.observe(changes, { before, after })
    emails.observe(changes, { flights: writes(), taken })
    db = after
    versions.push(after)
  }

  function isAnswer(
    { table, before, after }: Change,
    { answers }: Snapshot,
    taken: readonly WriteFlight[],
  ): boolean {
    if (after === null || !answerTables.has(table)) return false
    const id = after[table === 'answers' ? 'id' : 'answer_id']
    const answer = answers.find((one) => one.id === id)
    return taken.some(({ request, nowMs }) => {
      const hasExpired = before === null || String(before['expires_at']) <= iso(nowMs)
      return request.requestSha256 === answer?.request_sha256 && hasExpired
    })
  }

  /** The builder logs keys and published sets, and takes entries out of the queue. */
  function isSequencing({ table, after }: Change): boolean {
    return table === 'log_queue' && ['key', 'snapshot', undefined].includes(kindIn(after))
  }

  /** A change of an endpoint that lost a race is in the history, although it is refused. */
  function isLostRace({ table, before, after }: Change): boolean {
    return (
      table === 'oath_history' &&
      before === null &&
      after?.['action'] === 'updateAttestationEndpoint.conflict' &&
      writes().some(
        ({ request, nowMs }) =>
          request.proofs.some((proof) => proof.messageSha256 === after['message_sha256']) &&
          iso(nowMs) === after['created_at'],
      )
    )
  }

  /** Stored answers may be deleted once they have expired. */
  function checkExpired(changes: readonly Change[], nowMs: number): void {
    for (const { table, before, after } of changes) {
      const isLive = String(before?.['expires_at']) > iso(nowMs)
      if (answerTables.has(table) && after === null && isLive) {
        fail(`a stored answer was deleted before it expired: ${JSON.stringify(before)}`)
      }
    }
  }

  function effectsIn(
    before: Snapshot,
    after: Snapshot,
    changes: readonly Change[],
  ): readonly WriteFlight[] {
    const taken: WriteFlight[] = []
    for (const { table, after: row } of changes) {
      if (row === null || table !== 'answers') continue
      const isSame = ({ request }: WriteFlight) => request.requestSha256 === row['request_sha256']
      if (taken.some(isSame)) continue
      const outcome = { status: Number(row['status']), body: parsed(row['answer']) }
      const candidates = writes().filter(
        (flight) =>
          isSame(flight) &&
          (flight.request.key === null || row['expires_at'] === iso(flight.nowMs + dayMs)),
      )
      const flight = takeEffect(candidates, outcome, { before, after })
      if (flight !== null) taken.push(flight)
    }
    return taken
  }

  function takeEffect(
    candidates: readonly WriteFlight[],
    outcome: Outcome,
    { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
  ): WriteFlight | null {
    let reason = 'no open request caused it'
    for (const flight of candidates) {
      if (effective.has(flight)) continue
      const at = circumstanceOf(flight, before)
      const { repeat, mayTakeEffect, codes } = verdictOf(at)
      const problem = mayTakeEffect
        ? (findUnstored(flight, outcome, after) ?? findEffectProblem(at, outcome, after))
        : `it should be ${repeat === null ? codes.join(' or ') : 'a repeat'}`
      if (problem !== null) {
        reason = `${flight.name}: ${problem}`
        continue
      }
      const { requestSha256 } = flight.request
      const twins = candidates.filter(({ request }) => request.requestSha256 === requestSha256)
      firstAnswers.push({ ...outcome, flights: new Set(twins), isReceived: false })
      effective.add(flight)
      log(`    ${flight.name} is in the ledger`)
      return flight
    }
    fail(`an effect with the answer ${JSON.stringify(outcome)} that should not exist: ${reason}`)
    return null
  }

  /** Returns the problem of stored answers: one for each signature and for the key, in the same commit as the effect. */
  function findUnstored(
    { request, nowMs }: WriteFlight,
    { status, body }: Outcome,
    after: Snapshot,
  ): string | null {
    const { used_messages: used, idempotency_keys: keys } = after
    const isStored = (row: { readonly answer_id: string } | undefined) => {
      const answer = answerTo(after, row)
      return (
        answer?.request_sha256 === request.requestSha256 &&
        answer.status === status &&
        isDeepStrictEqual(JSON.parse(answer.answer), body)
      )
    }
    for (const { wallet, messageSha256, timestampMs } of request.proofs) {
      const row = used.find((one) => one.wallet === wallet && one.message_sha256 === messageSha256)
      if (!isStored(row)) return 'a signature is not marked as used'
      if (String(row?.expires_at) < iso(timestampMs + guardMs)) return 'a guard expires too soon'
    }
    if (request.key === null) return null
    const { caller, key } = request
    const row = keys.find(
      (one) => one.caller === caller && one.key === key && one.expires_at > iso(nowMs),
    )
    if (!isStored(row)) return 'no answer is stored for its key'
    return row?.expires_at === iso(nowMs + dayMs) ? null : 'its key expires at another time'
  }

  /** Secrets are derived from ids, and promises from receipts; neither is stored. */
  function asStored({ secret, log: promised, ...rest }: Fields): Fields {
    const wanted = webhookSecret(installation.keyedHash, String(rest['id']))
    if (secret !== undefined && secret !== wanted) fail('a secret is not that of its webhook')
    const isReceipt = rest['receipt_id'] !== undefined && rest['accepted_at'] !== undefined
    if (isReceipt !== (promised !== undefined)) fail('a receipt without its promise')
    return rest
  }

  /** `isExcused`: a fault occurred, so the ledger may answer 5xx. */
  function answered(flight: Flight, answer: Answer, isExcused: boolean): void {
    flights.delete(flight)
    const { status, body } = answer
    const code = codeOf(answer)
    log(`${flight.name} is answered ${status}${code === null ? '' : ` ${code}`}`)
    const isPayment =
      isPaid(flight) && ['settlement_pending', 'payment_unavailable'].includes(code ?? '')
    if (status >= 500 && !isPayment) {
      if (!isExcused) fail(`${flight.name} was answered ${status} although nothing had failed`)
      giveUp(flight)
      return
    }
    const window = versions.slice(flight.fromVersion)
    if (isPaid(flight)) answeredPaid(flight, answer, window)
    else if (flight.wanted !== null) answeredRead(flight, answer, window)
    else if (isWrite(flight)) answeredWrite(flight, { status, body: asStored(body) }, window)
  }

  function giveUp({ request, paid }: Flight): void {
    tally.unanswered += 1
    if (request !== null) unsettled.push(request)
    if (paid !== null) unserved.push(paid)
  }

  function answeredPaid(flight: PaidFlight, answer: Answer, window: readonly Snapshot[]): void {
    const outcome = payments.answered(flight, answer, window)
    if (outcome === 'later') giveUp(flight)
    else tally[outcome] += 1
  }

  function answeredRead(
    { name, wanted, nowMs }: Flight,
    { status, body }: Answer,
    window: readonly Snapshot[],
  ): void {
    const mismatches = window.map((seen) => {
      const members = wanted?.(seen, nowMs) ?? null
      if (members === null) return status === 404 ? null : `status ${status}, and not 404`
      return status === 200 ? findMismatch(body, members) : `status ${status}, and not 200`
    })
    if (!mismatches.includes(null)) fail(`${name}: ${mismatches.at(-1) ?? ''}`)
  }

  function answeredWrite(
    flight: WriteFlight,
    { status, body }: Outcome,
    window: readonly Snapshot[],
  ): void {
    const first = firstAnswers.find(
      (one) =>
        !one.isReceived &&
        one.flights.has(flight) &&
        one.status === status &&
        isDeepStrictEqual(one.body, body),
    )
    if (first !== undefined) {
      first.isReceived = true
      tally.taken += 1
      return
    }
    const code = codeOf({ body })
    const verdicts = window.map((seen) => verdictOf(circumstanceOf(flight, seen)))
    const isRepeat = verdicts.some(
      ({ repeat }) => repeat?.status === status && isDeepStrictEqual(repeat.body, body),
    )
    const hadEffect = firstAnswers.some(({ flights: of }) => of.size === 1 && of.has(flight))
    const isRefused =
      code !== null && !hadEffect && verdicts.some(({ codes }) => codes.includes(code))
    if (isRepeat || isRefused) {
      if (code === 'code_invalid') emails.checkCounted(flight, window)
      tally[code === null ? 'repeats' : 'refused'] += 1
      return
    }
    const wanted = verdicts.map(({ repeat, codes }) =>
      repeat === null ? codes.join(' or ') : `a repeat with ${repeat.status}`,
    )
    const all = [...new Set(wanted)].join(' or ')
    fail(`${flight.name} was answered ${status} ${code ?? ''}, and not: ${all}`)
  }

  return {
    db: () => db,
    versions,
    flights,
    reader,
    begin: (flight: Omit<Flight, 'fromVersion'>): Flight => {
      const begun = { ...flight, fromVersion: versions.length - 1 }
      tally.requests += 1
      flights.add(begun)
      return begun
    },
    answered,
    /** Open requests will not be answered. */
    cutOff: (): void => {
      for (const flight of flights) giveUp(flight)
      flights.clear()
    },
    takeUnsettled: () => unsettled.splice(0),
    takeUnserved: () => unserved.splice(0),
    /** Explains the changes of a commit; `between` has the states after each write of the transaction but the last. */
    observe: async (
      ask: Query,
      between: readonly Snapshot[],
      job: RunningJob | null,
    ): Promise<void> => {
      for (const after of [...between, await reader.read(ask)]) {
        const changes = reader.changes(db, after)
        if (changes.length > 0) explain(after, changes, job)
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
      webhooks.restore()
    },
  }
}

function isWrite(flight: Flight): flight is WriteFlight {
  return flight.request !== null
}

function codeOf({ body }: Pick<Answer, 'body'>): string | null {
  return typeof body['code'] === 'string' ? body['code'] : null
}

function parsed(answer: unknown): Fields {
  return z.record(z.string(), z.unknown()).parse(JSON.parse(String(answer)))
}
