/**
 * Checks the file and the answers. After every commit it finds the requests that took effect and applies them to the model;
 * an answer must be right in one of the states that existed while the request was open.
 */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { compareDump } from './compare.ts'
import { dumpSql, newsSql, soundSql } from './database-probe.ts'
import type { DatabaseProbe } from './database-probe.ts'
import { emailRows } from './emails.ts'
import type { Emails } from './emails.ts'
import type { Answer } from './http-call.ts'
import { seenBy } from './model/emails.ts'
import { moveByClock } from './model/job-ends.ts'
import { heldKey, judge, usedKey } from './model/judge.ts'
import { endByClock } from './model/partners.ts'
import { dayMs, iso } from './model/reading.ts'
import { copyOf, emptyState } from './model/state.ts'
import type { State } from './model/state.ts'
import type { Verdict } from './model/verdict.ts'
import { paymentRows } from './payments-oracle.ts'
import type { PaidFlight, PaymentsOracle } from './payments-oracle.ts'
import type { PaidRead } from './requests/reads.ts'
import type { Sent } from './requests/sent.ts'
import { findMismatch } from './structural-match.ts'
import { outboxRows } from './webhooks-oracle.ts'
import type { WebhooksOracle } from './webhooks-oracle.ts'

export interface Flight {
  readonly name: string
  readonly sent: Sent | null
  /** The wanted answer of a read in a state; null for a 404. */
  readonly look: ((state: State, nowMs: number) => object | null) | null
  readonly paid: PaidRead | null
  readonly nowMs: number
  readonly fromVersion: number
  /** Count of troubles when the machine was last undisturbed. */
  readonly troubles: number
  /** Time of the chain's head and count of faulty answers when it began. */
  readonly headMs: number
  readonly answerFaults: number
  /** Its change of the endpoint lost a race that is in the audit log. */
  lostRace: boolean
}

/** A request that took effect; one of its senders may receive the first answer. */
interface Effect {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly flights: ReadonlySet<Flight>
  isTold: boolean
}

/** The job of the builder that has committed. */
export interface ClockWork {
  readonly kind: string
  readonly nowMs: number
}

const anyBody = z.record(z.string(), z.unknown())
const text = z.string()
const news = z.object({
  used: z.array(z.tuple([text, text, text, z.number(), anyBody])),
  held: z.array(z.tuple([text, text])),
  keys: z.array(z.tuple([text, text, text, z.number(), anyBody, text])),
  feedback: z.array(z.tuple([text, text, text])),
  proposals: z.array(z.tuple([text, text, text])),
  audit: z.array(z.tuple([z.number(), text, text.nullable(), text, text, text])),
  ended: z.array(z.tuple([text])),
  moves: z.array(z.tuple([z.number(), text, text])),
  issued: z.array(z.tuple([text, text])),
  payments: paymentRows,
  outbox: outboxRows,
  emails: emailRows,
  last: z.array(z.number()),
})
type News = z.infer<typeof news>

export interface LedgerOracle {
  readonly state: () => State
  /** All states, oldest first. */
  readonly versions: readonly State[]
  readonly flights: ReadonlySet<Flight>
  readonly begun: (flight: Omit<Flight, 'fromVersion' | 'lostRace'>) => Flight
  /** `isExcused`: a fault occurred, so the ledger may answer 5xx. */
  readonly answered: (flight: Flight, answer: Answer, isExcused: boolean) => void
  /** Open requests will not be answered. */
  readonly cutOff: () => void
  /** Unanswered requests, to be repeated. */
  readonly takeUnsettled: () => readonly Sent[]
  readonly takeUnserved: () => readonly PaidRead[]
  readonly observe: (probe: DatabaseProbe, clock: ClockWork | null) => Promise<void>
  /** The whole file against the model. */
  readonly examine: (probe: DatabaseProbe) => Promise<void>
  readonly putBack: (probe: DatabaseProbe, to: State, nowMs: number) => Promise<void>
}

export function createLedgerOracle(given: {
  readonly log: (line: string) => void
  readonly fail: (what: string) => void
  readonly secretOf: (id: string) => string
  readonly tally: Record<
    'requests' | 'taken' | 'repeats' | 'refused' | 'unanswered' | 'bought',
    number
  >
  readonly paymentsOracle: PaymentsOracle
  readonly webhooks: WebhooksOracle
  readonly emails: Emails
}): LedgerOracle {
  const { log, fail, tally, paymentsOracle, webhooks, emails } = given
  let last: readonly number[] = [0, 0, 0, 0, 0, 0, 0]
  let lostRaces = 0
  let state = emptyState()
  const versions: State[] = [copyOf(state)]
  const effects: Effect[] = []
  const effective = new Set<Flight>()
  const flights = new Set<Flight>()
  const unsettled: Sent[] = []
  const unserved: PaidRead[] = []

  async function observe(probe: DatabaseProbe, clock: ClockWork | null): Promise<void> {
    const found = news.parse(await probe.json(newsSql, last))
    const before = versions.at(-1) ?? state
    last = found.last
    const told = new Set<string>()
    for (const [wallet, sha, requestSha, status, body] of found.used) {
      if (told.has(`${wallet} ${sha}`)) continue
      const proof = `${wallet} ${sha}`
      const audit = found.audit.find(([, by, , , message]) => by === wallet && message === sha)
      // Claims and signups are in the audit log by their oaths.
      const oath = found.audit.find(
        ([, by, , action]) =>
          by === wallet && (action === 'claimSpot' || action === 'signupPartner'),
      )
      noteLostRaces(found, (audit ?? oath)?.[0] ?? 0)
      const candidates = [...flights].filter(
        ({ sent, nowMs }) =>
          sent?.requestSha === requestSha &&
          sent.proofs.some((one) => usedKey(one) === proof) &&
          (audit === undefined || audit[5] === iso(nowMs)),
      )
      const flight = takeEffect(candidates, { status, body }, `message ${sha.slice(0, 8)}`)
      for (const one of flight?.sent?.proofs ?? []) told.add(usedKey(one))
    }
    noteUnsigned(found)
    noteLostRaces(found, Infinity)
    for (const [, job, event] of found.moves) {
      const [receiptId = null] = found.issued.find(([, of]) => of === job) ?? []
      const what = moveByClock(state, { job, event, receiptId }, clock?.nowMs ?? Number.NaN)
      if (what !== null) fail(`${event} of ${job} by the clock: ${what}`)
      versions.push(copyOf(state))
      log(`    ${event} of ${job} by the clock`)
    }
    for (const [handle] of found.ended) {
      if (state.partners.get(handle)?.status === 'cancelled') continue
      const what = endByClock(state, handle, clock?.nowMs ?? Number.NaN)
      if (what !== null) fail(`the end of ${handle} by the clock: ${what}`)
      versions.push(copyOf(state))
      log(`    the signup of ${handle} ends by the clock`)
    }
    const hasMoved = paymentsOracle.observe(found.payments, {
      payments: state.payments,
      flights: [...flights].filter(isPaid),
    })
    const isTold = webhooks.observe(found.outbox, state)
    const hasMail = emails.observe(found.emails, { state, before }, [...flights])
    if (hasMoved || isTold || hasMail) versions.push(copyOf(state))
    if (clock?.kind === 'tidy') {
      // It may only drop what has expired.
      noteDropped(state.used, found.held, clock.nowMs)
      noteDropped(state.keys, found.keys, clock.nowMs)
      versions.push(copyOf(state))
    }
  }

  function noteDropped(
    kept: State['used'],
    rows: readonly (readonly unknown[])[],
    nowMs: number,
  ): void {
    const there = new Set(rows.map(([by, name]) => `${String(by)} ${String(name)}`))
    for (const [key, { untilMs }] of kept) {
      if (there.has(key)) continue
      if (untilMs > nowMs) fail(`${key} was dropped although it had not expired`)
      kept.delete(key)
    }
  }

  /** Lost races for an endpoint are in the audit log; takes those before a row. */
  function noteLostRaces(found: News, before: number): void {
    for (const [seq, wallet, handle, action, message, createdAt] of found.audit) {
      if (action !== 'updateAttestationEndpoint.conflict' || seq >= before || seq <= lostRaces)
        continue
      lostRaces = seq
      const flight = [...flights].find(
        ({ sent, nowMs }) =>
          sent?.proofs.some(({ sha }) => sha === message) === true && iso(nowMs) === createdAt,
      )
      if (flight === undefined) fail('a lost race is in the history that nobody ran')
      else flight.lostRace = true
      state.audit.push(['write', wallet, handle, action, createdAt])
      versions.push(copyOf(state))
    }
  }

  /** Unsigned writes are identified by their key or text. */
  function noteUnsigned(found: News): void {
    const fresh = found.keys.filter(([caller, key, requestSha, , , expiresAt]) => {
      const kept = state.keys.get(`${caller} ${key}`)
      return kept?.requestSha !== requestSha || iso(kept.untilMs) !== expiresAt
    })
    const isUnsigned = ({ sent }: Flight): boolean => sent !== null && sent.proofs.length === 0
    const unsigned = [...flights].filter(isUnsigned)
    const holding = ([caller, key, requestSha, , , expiresAt]: News['keys'][number]) =>
      unsigned.filter(
        ({ sent, nowMs }) =>
          sent !== null &&
          heldKey(sent) === `${caller} ${key}` &&
          sent.requestSha === requestSha &&
          iso(nowMs + dayMs) === expiresAt,
      )
    for (const [id, words, createdAt] of [...found.feedback, ...found.proposals]) {
      const isFeedback = id.startsWith('fbk_')
      const keyed = fresh.find(
        ([, , , status, body]) =>
          status !== 200 && (body['feedback_id'] ?? body['proposal_id']) === id,
      )
      const candidates =
        keyed === undefined
          ? unsigned.filter(
              ({ sent, nowMs }) =>
                sent !== null &&
                sent.key === null &&
                'text' in sent.intent &&
                sent.intent.text === words &&
                iso(nowMs) === createdAt,
            )
          : holding(keyed)
      const body = isFeedback
        ? { feedback_id: id, deduplicated: false }
        : { proposal_id: id, slug: slugOf(candidates[0]), status: 'pending' }
      takeEffect(candidates, { status: isFeedback ? 201 : 202, body }, `words "${words}"`)
    }
    for (const held of fresh) {
      const [caller, key, requestSha, status, body, expiresAt] = held
      const kept = state.keys.get(`${caller} ${key}`)
      if (kept?.requestSha === requestSha && iso(kept.untilMs) === expiresAt) continue
      takeEffect(holding(held), { status, body }, `key ${key}`)
    }
  }

  /** The request that caused the rows, after it was applied to the model. */
  function takeEffect(
    candidates: readonly Flight[],
    answer: { readonly status: number; readonly body: Effect['body'] },
    what: string,
  ): Flight | null {
    let reason = 'nobody asked for it'
    for (const flight of candidates) {
      const { sent, nowMs } = flight
      if (sent === null || effective.has(flight)) continue
      if (sent.intent.kind === 'code') emails.suppose(state, sent.intent)
      const verdict = judge(state, sent, nowMs)
      const unfit = verdict.kind === 'success' ? answerMismatch(verdict, answer) : tell(verdict)
      if (unfit !== null || verdict.kind !== 'success') {
        reason = `${flight.name}: ${unfit ?? ''}`
        continue
      }
      verdict.write(state, answer.body)
      versions.push(copyOf(state))
      const twins = candidates.filter((one) => one.sent?.requestSha === sent.requestSha)
      effects.push({ ...answer, flights: new Set(twins), isTold: false })
      effective.add(flight)
      log(`    ${flight.name} is in the ledger`)
      return flight
    }
    fail(`rows of ${what} that should not be: ${reason}`)
    return null
  }

  /** Secrets are derived from ids and not stored. */
  function withoutSecret({ secret, ...rest }: Answer['body']): Answer['body'] {
    if (secret === undefined) return rest
    if (secret !== given.secretOf(String(rest['id']))) fail('a secret is not that of its webhook')
    return rest
  }

  function answered(flight: Flight, answer: Answer, isExcused: boolean): void {
    flights.delete(flight)
    const { status } = answer
    const body = withoutSecret(answer.body)
    const code = typeof body['code'] === 'string' ? body['code'] : null
    log(`${flight.name} is answered ${status}${code === null ? '' : ` ${code}`}`)
    if (isPaid(flight)) {
      answeredPaid(flight, answer, isExcused)
      return
    }
    if (status >= 500) {
      tally.unanswered += 1
      if (!isExcused) fail(`${flight.name} was answered ${status} although nothing was fail`)
      if (flight.sent !== null) unsettled.push(flight.sent)
      return
    }
    const window = versions.slice(flight.fromVersion)
    if (flight.look !== null) {
      const { look } = flight
      const mismatches = window.map((seen) => {
        const wanted = look(seen, flight.nowMs)
        if (wanted === null) return status === 404 ? null : `answered ${status}, and not 404`
        return status === 200 ? findMismatch(wanted, body) : `answered ${status}, and not 200`
      })
      if (!mismatches.includes(null)) fail(`${flight.name}: ${mismatches.at(-1) ?? ''}`)
      return
    }
    const { sent } = flight
    if (sent === null) return
    const effect = effects.find(
      (one) =>
        !one.isTold &&
        one.flights.has(flight) &&
        one.status === status &&
        isDeepStrictEqual(one.body, body),
    )
    if (effect !== undefined) {
      effect.isTold = true
      tally.taken += 1
      return
    }
    const isCodeRequest = sent.intent.kind === 'ask'
    const verdicts = window.map((seen) =>
      judge(isCodeRequest ? seenBy(seen, flight.name) : seen, sent, flight.nowMs),
    )
    const isRight = verdicts.some((verdict) =>
      verdict.kind === 'repeat'
        ? verdict.status === status && isDeepStrictEqual(verdict.body, body)
        : verdict.kind === 'refused' && code !== null && verdict.codes.includes(code),
    )
    if (isRight || (flight.lostRace && code === 'conflict')) {
      if (code === 'code_invalid') emails.refused(flight, window)
      if (code === null) tally.repeats += 1
      else tally.refused += 1
      return
    }
    const wanted = [...new Set(verdicts.map(tell))].join(' or ')
    fail(`${flight.name} was answered ${status} ${code ?? ''}, and not: ${wanted}`)
  }

  function answeredPaid(flight: PaidFlight, answer: Answer, isExcused: boolean): void {
    const { status, body } = answer
    const isOurs = body['code'] === 'settlement_pending' || body['code'] === 'payment_unavailable'
    if (status >= 500 && !isOurs) {
      if (!isExcused) fail(`${flight.name} was answered ${status} although nothing was fail`)
      tally.unanswered += 1
      unserved.push(flight.paid)
      return
    }
    const came = paymentsOracle.answered(flight, answer, versions.slice(flight.fromVersion))
    if (came === 'bought') tally.bought += 1
    else if (came === 'refused') tally.refused += 1
    else {
      tally.unanswered += 1
      unserved.push(flight.paid)
    }
  }

  async function examine(probe: DatabaseProbe): Promise<void> {
    for (const unfit of compareDump(await probe.json(dumpSql), state)) fail(`in the file: ${unfit}`)
    const sound = z.record(z.string(), z.number()).parse(await probe.json(soundSql))
    for (const [what, count] of Object.entries(sound)) {
      if (count !== 0) fail(`in the file: ${count} ${what}`)
    }
  }

  return {
    state: () => state,
    versions,
    flights,
    begun: (flight) => {
      const under = { ...flight, fromVersion: versions.length - 1, lostRace: false }
      tally.requests += 1
      flights.add(under)
      return under
    },
    answered,
    cutOff: () => {
      for (const { sent, paid } of flights) {
        tally.unanswered += 1
        if (paid !== null) unserved.push(paid)
        if (sent !== null) unsettled.push(sent)
      }
      flights.clear()
    },
    takeUnsettled: () => unsettled.splice(0),
    takeUnserved: () => unserved.splice(0),
    observe,
    examine,
    putBack: async (probe, to, nowMs) => {
      state = { ...copyOf(to), restoredMs: nowMs }
      versions.push(copyOf(state))
      paymentsOracle.putBack(state.payments)
      webhooks.putBack(state)
      last = news.parse(await probe.json(newsSql, last)).last
      lostRaces = last[3] ?? 0
    },
  }
}

function isPaid(flight: Flight): flight is Flight & PaidFlight {
  return flight.paid !== null
}

function slugOf(flight: Flight | undefined): string {
  const intent = flight?.sent?.intent
  return intent?.kind === 'propose' ? intent.slug : ''
}

function answerMismatch(
  verdict: Extract<Verdict, { readonly kind: 'success' }>,
  answer: { readonly status: number; readonly body: Effect['body'] },
): string | null {
  if (verdict.status !== answer.status) return `status ${answer.status}, and not ${verdict.status}`
  return findMismatch(verdict.answer, answer.body)
}

function tell(verdict: Verdict): string {
  if (verdict.kind === 'refused') return `refused as ${verdict.codes.join(' or ')}`
  return `${verdict.kind} with ${verdict.status}`
}
