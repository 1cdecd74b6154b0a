/**
 * Watches what is paid for: every change of a row against the chain and against who is asking, every answer against
 * both. What the ledger hands over to be settled must be noted before.
 */
import { z } from 'zod'

import { keyOf } from './chain/usdc.ts'
import type { Authorization } from './chain/usdc.ts'
import type { Answer } from './http-call.ts'
import { headerOf } from './http-call.ts'
import type { Process } from './machine.ts'
import { isPaid, findInvalidChange, takenMicro, timeFlaw, wasThere } from './model/payments.ts'
import type { Evidence } from './model/payments.ts'
import type { Payment, State } from './model/state.ts'
import type { PaymentWorld } from './payment-world.ts'
import type { PaidRead } from './requests/reads.ts'
import { siteUrl } from './requests/reads.ts'
import { findMismatch } from './structural-match.ts'

/** A read that is paid for, under way. */
export interface PaidFlight {
  readonly name: string
  readonly paid: PaidRead
  readonly nowMs: number
  readonly fromVersion: number
  /** Time of the chain's head when it began. */
  readonly headMs: number
  /** Count of faulty answers when it began. */
  readonly answerFaults: number
}

const text = z.string()
export const paymentRows = z.array(
  z.object({
    id: text,
    payer: text,
    nonce: text,
    payTo: text,
    amountMicro: z.number(),
    validBefore: z.number(),
    purpose: text,
    resource: text,
    state: z.enum(['reserved', 'submitted', 'settled', 'failed']),
    txHash: text.nullable(),
    blockNumber: z.number().nullable(),
    blockHash: text.nullable(),
    finality: z.enum(['latest', 'final', 'undone']).nullable(),
    isDelivered: z.number().transform(Boolean),
  }),
)

/** The right to one answer, taken in the ledger. */
interface Delivery {
  readonly key: string
  readonly flights: ReadonlySet<PaidFlight>
  isTold: boolean
}

export interface PaymentsOracle {
  /** Applies the changes. Returns true if there were any. */
  readonly observe: (rows: z.infer<typeof paymentRows>, of: Ledger) => boolean
  readonly handedOver: (authorization: Authorization, txHash: string | null) => void
  /** The file was put back, with these. */
  readonly putBack: (payments: State['payments']) => void
  /** The process that looks after payments now. */
  readonly watcher: () => Process | null
  readonly watchBegins: (process: Process) => void
  readonly watchEnds: (process: Process) => void
  /** `versions`: the states that there were since it began. */
  readonly answered: (
    flight: PaidFlight,
    answer: Answer,
    versions: readonly State[],
  ) => 'bought' | 'refused' | 'later'
  /** Reads that are paid and not yet delivered: a repeat must be answered. */
  readonly owed: () => readonly PaidRead[]
  /** When all is over: the sums of the ledger are those of the chain. */
  readonly balance: () => void
}

interface Ledger {
  readonly payments: State['payments']
  /** Under way now. */
  readonly flights: readonly PaidFlight[]
}

export function createPaymentsOracle(given: {
  readonly paymentWorld: Pick<PaymentWorld, 'chain' | 'mode' | 'people' | 'answerFaults'>
  readonly fail: (what: string) => void
  readonly log: (line: string) => void
}): PaymentsOracle {
  const { paymentWorld, fail, log } = given
  const { chain, mode } = paymentWorld
  const { receiver } = paymentWorld.people
  let payments: State['payments'] = new Map()
  let watched: { readonly process: Process; readonly headMs: number } | null = null
  const deliveries: Delivery[] = []
  /** By payment and by what it was to buy. */
  const asked = new Map<string, PaidRead>()

  const keyFor = ({ payment }: PaidRead): string | null =>
    payment?.isGenuine === true ? keyOf(payment.authorization) : null
  /** Payments on the chain to the receiver. */
  const received = () =>
    chain
      .ends()
      .filter(({ call }) => call.kind === 'transfer' && call.to === receiver.toLowerCase())
  const resourceOf = ({ path }: Pick<PaidRead, 'path'>): string => `${siteUrl}${path}`

  /** Under way with this payment, for what it buys. */
  function askers(
    flights: readonly PaidFlight[],
    key: string,
    { resource, amountMicro, payTo }: Payment,
  ): readonly PaidFlight[] {
    return flights.filter(({ paid }) => {
      if (keyFor(paid) !== key || resourceOf(paid) !== resource) return false
      return paid.priceMicro === amountMicro && payTo === receiver && flawOf(paid) === null
    })
  }

  /** The reason why the payment does not fit the read, or null. */
  function flawOf({ payment, priceMicro }: PaidRead): string | null {
    if (payment === null) return mode === 'off' ? 'payment_off' : 'payment_required'
    if (mode === 'off') return 'payment_off'
    const { to, value } = payment.authorization
    if (value !== BigInt(priceMicro) || to !== receiver.toLowerCase()) return 'payment_mismatch'
    return payment.isGenuine ? null : 'payment_signature_invalid'
  }

  function evidenceOf(key: string, began: readonly number[]): Evidence {
    return {
      end: chain.endOf(key),
      headMs: chain.head().timeMs,
      endIn: chain.endIn,
      hasFailed: chain.hasFailed(key),
      askedMs: began.length === 0 ? null : Math.min(...began),
      watchedMs: watched?.headMs ?? null,
    }
  }

  function answered(
    flight: PaidFlight,
    answer: Answer,
    seen: readonly State[],
  ): 'bought' | 'refused' | 'later' {
    const { paid, name, nowMs } = flight
    const { status, body } = answer
    const code = typeof body['code'] === 'string' ? body['code'] : ''
    const key = keyFor(paid)
    const flaw = flawOf(paid)
    // From here on it is known to the ledger, whether or not it was a good time for it.
    if (key !== null && flaw === null) asked.set(`${key} ${paid.path}`, paid)
    const say = (what: string): void => fail(`${name} was answered ${status} ${code}: ${what}`)
    if (status === 200) {
      const right = deliveries.find(
        (one) => !one.isTold && one.key === key && one.flights.has(flight),
      )
      if (right === undefined || flaw !== null) say('it has not bought that')
      else right.isTold = true
      const mismatches = seen.map((one) => findMismatch(paid.wanted(one, nowMs), body))
      if (!mismatches.includes(null)) say(mismatches.at(-1) ?? '')
      if (headerOf(answer, 'payment-response') === null) say('it is not told how it was settled')
      return 'bought'
    }
    if (status >= 500) {
      if (headerOf(answer, 'payment-required') !== null) say('it is asked to pay twice')
      if (code === 'settlement_pending') {
        if (flaw !== null) say(`it is ${flaw}`)
        return 'later'
      }
      if (code === 'payment_unavailable' && paymentWorld.answerFaults() === flight.answerFaults) {
        say('everybody had answered')
      }
      return 'later'
    }
    const problem = refusalProblem(flight, code, seen)
    if (status !== 402) say('it is none of these')
    else if (problem !== null) say(problem)
    return 'refused'
  }

  /** Nobody may be told to pay anew who has paid, and not been answered. */
  function refusalProblem(
    { paid, nowMs, headMs }: PaidFlight,
    code: string,
    seen: readonly State[],
  ): string | null {
    const flaw = flawOf(paid)
    if (flaw !== null) return flaw === code ? null : `it is ${flaw}`
    const key = keyFor(paid)
    if (key === null || paid.payment === null) return 'there is no payment'
    const end = chain.endOf(key)
    const rows = seen.map((one) => one.payments.get(key) ?? null)
    const isSpent = rows.some(
      (row) =>
        row !== null &&
        (row.isDelivered || row.finality === 'undone' || row.resource !== resourceOf(paid)),
    )
    if (code === 'authorization_already_used') {
      if (isSpent) return null
      const terms = { payTo: receiver, amountMicro: paid.priceMicro }
      return end !== null && !isPaid(end, terms) ? null : 'nothing was delivered for it'
    }
    const time = timeFlaw(paid.payment.authorization, nowMs)
    // Where the clock is wrong it may be too soon for what has been paid: that passes.
    if (code === 'payment_expired' && time === 'early') return null
    const terms = { payTo: receiver, amountMicro: paid.priceMicro }
    if (!isSpent && isPaid(end, terms) && wasThere(end, headMs)) return 'it has been paid'
    const known = ['payment_expired', 'insufficient_funds', 'payment_refused']
    if (mode === 'facilitator') known.push('payment_signature_invalid')
    return known.includes(code) ? null : 'there is no such reason'
  }

  return {
    observe: (rows, { flights, ...ledger }) => {
      payments = ledger.payments
      const found = new Map(
        rows.map(({ payer, nonce, ...row }) => [keyOf({ from: payer, nonce }), row] as const),
      )
      let hasChanged = false
      for (const key of new Set([...payments.keys(), ...found.keys()])) {
        const [before, after] = [payments.get(key) ?? null, found.get(key) ?? null]
        if (JSON.stringify(before) === JSON.stringify(after)) continue
        hasChanged = true
        const of = after ?? before
        if (of === null) continue
        const asking = askers(flights, key, of)
        const began = asking.map(({ headMs }) => headMs)
        const what = findInvalidChange(before, after, evidenceOf(key, began))
        const [was, is] = [before?.state ?? 'nothing', after?.state ?? 'nothing']
        const told = after?.isDelivered === true && before?.isDelivered !== true
        log(`    payment ${key.slice(43, 53)}: ${was} is ${is}${told ? ', delivered' : ''}`)
        if (what !== null) fail(`the payment ${key}: ${what}`)
        if (told) deliveries.push({ key, flights: new Set(asking), isTold: false })
        if (after === null) payments.delete(key)
        else payments.set(key, after)
      }
      return hasChanged
    },
    handedOver: (authorization, txHash) => {
      const row = payments.get(keyOf(authorization))
      const isNoted = row?.state === 'submitted' && (txHash === null || row.txHash === txHash)
      if (!isNoted) fail(`a payment is ${row?.state ?? 'unknown'}, and is handed over`)
    },
    putBack: (put) => {
      payments = put
    },
    watcher: () => watched?.process ?? null,
    watchBegins: (process) => {
      watched = { process, headMs: chain.head().timeMs }
    },
    watchEnds: (process) => {
      if (watched?.process === process) watched = null
    },
    answered,
    owed: () =>
      received().flatMap((end) => {
        const key = keyOf(end.call)
        const row = payments.get(key)
        if (row?.isDelivered === true) return []
        const of = [...asked.values()].filter((paid) => keyFor(paid) === key)
        const wanted = of.find((paid) => resourceOf(paid) === row?.resource) ?? of[0]
        return wanted === undefined ? [] : [wanted]
      }),
    balance: () => {
      const moved = received().filter(({ call }) =>
        [...asked.values()].some((paid) => keyFor(paid) === keyOf(call)),
      )
      for (const end of moved) {
        const row = payments.get(keyOf(end.call))
        const isThere = row?.state === 'settled' && row.blockHash === end.block.hash
        if (!isThere) fail(`${keyOf(end.call)} is paid, and ${row?.state ?? 'unknown'}`)
        else if (row.finality !== 'final') fail(`${keyOf(end.call)} is not final`)
        else if (!row.isDelivered) fail(`${keyOf(end.call)} is paid, and was never delivered`)
      }
      const sum = moved.reduce(
        (so, { call }) => so + (call.kind === 'transfer' ? call.value : 0n),
        0n,
      )
      if (BigInt(takenMicro({ payments })) !== sum) {
        fail(`the ledger has taken ${takenMicro({ payments })}, and the chain says ${sum}`)
      }
    },
  }
}
