/** Checks payments: each change of a row against the chain and the open requests, and each answer against both. */
import { keyOf, mostLagMs } from '../chain/usdc.ts'
import type { Authorization, End } from '../chain/usdc.ts'
import { headerOf } from '../http-call.ts'
import type { Answer } from '../http-call.ts'
import type { Process } from '../machine.ts'
import type { PaymentWorld } from '../payment-world.ts'
import { siteUrl } from '../requests/reads.ts'
import type { PaidRead } from '../requests/reads.ts'
import type { Run } from '../run.ts'
import { findMismatch } from './effects.ts'
import type { PaidFlight } from './flight.ts'
import type { Change, RowOf, Snapshot } from './snapshot.ts'

type Payment = RowOf<'payments'>

const leastLifeSeconds = 10
const mostLifeSeconds = 3600
/** A transfer cannot be mined this long after its expiry. */
const overAfterSeconds = 60

/** The right to one answer, recorded in the ledger. */
interface Delivery {
  readonly key: string
  readonly flights: ReadonlySet<PaidFlight>
  isReceived: boolean
}

interface Evidence {
  readonly end: End | null
  readonly headMs: number
  readonly hasFailed: boolean
  /** Times of the chain's head when the first open request with this payment, and the payment watch, began; or null. */
  readonly requestedMs: number | null
  readonly watchedMs: number | null
}

export type PaymentsOracle = ReturnType<typeof createPaymentsOracle>

export function createPaymentsOracle(
  { fail, log }: Run,
  world: Pick<PaymentWorld, 'chain' | 'mode' | 'people' | 'answerFaults'>,
  current: () => Snapshot,
) {
  const { chain, mode } = world
  const { receiver } = world.people
  let watched: { readonly process: Process; readonly headMs: number } | null = null
  const deliveries: Delivery[] = []
  const known = new Map<string, PaidRead>()

  const keyFor = ({ payment }: PaidRead): string | null =>
    payment?.isGenuine === true ? keyOf(payment.authorization) : null
  const received = () =>
    chain
      .ends()
      .filter(({ call }) => call.kind === 'transfer' && call.to === receiver.toLowerCase())
  const resourceOf = ({ path }: Pick<PaidRead, 'path'>): string => `${siteUrl}${path}`

  function requesters(
    flights: readonly PaidFlight[],
    { resource, amount_micro_usdc: amount, pay_to: payTo, ...row }: Payment,
  ): readonly PaidFlight[] {
    return flights.filter(({ paid }) => {
      const isSame = keyFor(paid) === rowKey(row) && resourceOf(paid) === resource
      return isSame && paid.priceMicro === amount && payTo === receiver && flawOf(paid) === null
    })
  }

  function flawOf({ payment, priceMicro }: PaidRead): string | null {
    if (mode === 'off') return 'payment_off'
    if (payment === null) return 'payment_required'
    const { to, value } = payment.authorization
    if (value !== BigInt(priceMicro) || to !== receiver.toLowerCase()) return 'payment_mismatch'
    return payment.isGenuine ? null : 'payment_signature_invalid'
  }

  function findInvalid(before: Payment | null, after: Payment | null, of: Evidence): string | null {
    const { requestedMs, watchedMs } = of
    if (after === null) {
      return before?.state === 'reserved' ? null : `a ${before?.state ?? ''} payment is forgotten`
    }
    const change = `${before?.state ?? 'none'} becomes ${after.state}`
    const isRequested = requestedMs !== null
    if (after.state === 'reserved' || after.state === 'submitted') {
      const allowed = {
        reserved: ['none', 'reserved', 'failed'],
        submitted: ['reserved', 'submitted', 'reconcile'],
      }[after.state]
      if (!allowed.includes(before?.state ?? 'none')) return change
      return isRequested ? null : `${change} without a request`
    }
    if (before === null) return change
    if (after.state === 'failed') return before.state === 'submitted' ? givenUp(after, of) : change
    if (after.delivered_at !== before.delivered_at && !isRequested) {
      return 'it is delivered without a request'
    }
    if (before.state === 'settled') return finalized(before, after, of)
    if (!isRequested && watchedMs === null) return `${change} without a request`
    const { tx_hash: txHash, block_hash: blockHash } = after
    const end = txHash === null || blockHash === null ? null : chain.endIn(txHash, blockHash)
    return isPaid(end, after) ? null : `${change} without such a transfer on the chain`
  }

  function answered(
    flight: PaidFlight,
    answer: Answer,
    window: readonly Snapshot[],
  ): 'bought' | 'refused' | 'later' {
    const { paid, name, nowMs } = flight
    const { status, body } = answer
    const code = typeof body['code'] === 'string' ? body['code'] : ''
    const key = keyFor(paid)
    const flaw = flawOf(paid)
    if (key !== null && flaw === null) known.set(`${key} ${paid.path}`, paid)
    const report = (problem: string | null): void => {
      if (problem !== null) fail(`${name} was answered ${status} ${code}: ${problem}`)
    }
    if (status === 200) {
      const delivery = deliveries.find(
        (one) => !one.isReceived && one.key === key && one.flights.has(flight),
      )
      if (delivery === undefined || flaw !== null) report('it has not paid for that')
      else delivery.isReceived = true
      const mismatches = window.map((db) => findMismatch(body, paid.wanted(db, nowMs)))
      if (!mismatches.includes(null)) report(mismatches.at(-1) ?? '')
      if (headerOf(answer, 'payment-response') === null) report('it lacks the settlement')
      return 'bought'
    }
    if (code === 'payment_buyer_unproven') {
      const isHeld = window.some((db) =>
        db.payments.some((row) => rowKey(row) === key && row.state === 'reconcile'),
      )
      report(isHeld && status === 409 ? flaw : 'the payment is not held')
      return 'refused'
    }
    if (status < 500) {
      report(status === 402 ? refusalProblem(flight, code, window) : 'the status is wrong')
      return 'refused'
    }
    if (headerOf(answer, 'payment-required') !== null) report('it must pay twice')
    if (code === 'settlement_pending') report(flaw)
    else if (world.answerFaults() === flight.answerFaults) report('the chain had answered')
    return 'later'
  }

  /** A payer who has paid and received no answer must not be told to pay again. */
  function refusalProblem(
    { paid, nowMs, headMs }: PaidFlight,
    code: string,
    window: readonly Snapshot[],
  ): string | null {
    const flaw = flawOf(paid)
    const key = keyFor(paid)
    if (flaw !== null || key === null || paid.payment === null) {
      return flaw === code ? null : `it should be ${flaw ?? 'accepted'}`
    }
    const end = chain.endOf(key)
    const terms = { pay_to: receiver, amount_micro_usdc: paid.priceMicro }
    const isSpent = window
      .flatMap((db) => db.payments.find((row) => rowKey(row) === key) ?? [])
      .some(
        (row) =>
          row.delivered_at !== null ||
          row.finality === 'undone' ||
          row.resource !== resourceOf(paid),
      )
    if (code === 'authorization_already_used') {
      if (isSpent) return null
      return end !== null && !isPaid(end, terms) ? null : 'nothing was delivered for it'
    }
    // By a wrong clock, a paid authorization may not be valid yet; this passes.
    if (code === 'payment_expired' && isEarly(paid.payment.authorization, nowMs)) return null
    if (!isSpent && isPaid(end, terms) && wasVisible(end, headMs)) return 'it has been paid'
    const codes = ['payment_expired', 'insufficient_funds', 'payment_refused']
    if (mode === 'facilitator') codes.push('payment_signature_invalid')
    return codes.includes(code) ? null : 'there is no such reason'
  }

  const isDelivered = (key: string): boolean =>
    current().payments.some((row) => rowKey(row) === key && row.delivered_at !== null)

  return {
    observe: (changes: readonly Change[], flights: readonly PaidFlight[]): void => {
      for (const { table, before: old, after: row } of changes) {
        if (table !== 'payments') continue
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows of the table `payments`.
        const [before, after] = [old, row] as unknown as (Payment | null)[]
        const payment = after ?? before
        if (payment === undefined || payment === null) continue
        const key = rowKey(payment)
        const requesting = requesters(flights, payment)
        const began = requesting.map(({ headMs }) => headMs)
        const problem = findInvalid(before ?? null, after ?? null, {
          end: chain.endOf(key),
          headMs: chain.head().timeMs,
          hasFailed: chain.hasFailed(key),
          requestedMs: began.length === 0 ? null : Math.min(...began),
          watchedMs: watched?.headMs ?? null,
        })
        const isAnswer = (after?.delivered_at ?? null) !== null && before?.delivered_at === null
        log(`    payment ${key.slice(43, 53)} is ${after?.state ?? 'none'}`)
        if (problem !== null) fail(`the payment ${key}: ${problem}`)
        if (isAnswer) deliveries.push({ key, flights: new Set(requesting), isReceived: false })
      }
    },
    /** Called with a payment before the ledger submits it. */
    handedOver: (authorization: Authorization, txHash: string | null): void => {
      const row = current().payments.find((one) => rowKey(one) === keyOf(authorization))
      const isRecorded = row?.state === 'submitted' && (txHash === null || row.tx_hash === txHash)
      if (!isRecorded) fail(`a payment is submitted while it is ${row?.state ?? 'unknown'}`)
    },
    isWatched: (): boolean => watched !== null,
    watchBegins: (process: Process): void => {
      watched = { process, headMs: chain.head().timeMs }
    },
    watchEnds: (process: Process): void => {
      if (watched?.process === process) watched = null
    },
    answered,
    /** Reads that are paid and not yet delivered: a repeat must be answered. */
    owed: (): readonly PaidRead[] =>
      received().flatMap(({ call }) => {
        const key = keyOf(call)
        const row = current().payments.find((one) => rowKey(one) === key)
        if (isDelivered(key) || row?.state === 'reconcile') return []
        const reads = [...known.values()].filter((paid) => keyFor(paid) === key)
        return reads.find((paid) => resourceOf(paid) === row?.resource) ?? reads.slice(0, 1)
      }),
    /** At the end of a run, the sums of the ledger are those of the chain. */
    balance: (): void => {
      const keys = new Set([...known.values()].map(keyFor))
      const held = new Set(
        current()
          .payments.filter(({ state }) => state === 'reconcile')
          .map(rowKey),
      )
      const moved = received().filter(({ call }) => keys.has(keyOf(call)) && !held.has(keyOf(call)))
      for (const { call, block } of moved) {
        const key = keyOf(call)
        const row = current().payments.find((one) => rowKey(one) === key)
        const isThere = row?.state === 'settled' && row.block_hash === block.hash
        if (!isThere) fail(`${key} is paid, and in the ledger ${row?.state ?? 'unknown'}`)
        else if (row.finality !== 'final') fail(`${key} is not final`)
        else if (!isDelivered(key)) fail(`${key} is paid and was never delivered`)
      }
      const sum = moved.reduce(
        (total, { call }) => total + (call.kind === 'transfer' ? call.value : 0n),
        0n,
      )
      const taken = current()
        .payments.filter(({ state, finality }) => state === 'settled' && finality !== 'undone')
        .reduce((total, row) => total + row.amount_micro_usdc, 0)
      if (BigInt(taken) !== sum) fail(`the ledger counts ${taken}, and the chain ${sum}`)
    },
  }
}

function rowKey({ payer, nonce }: Pick<Payment, 'payer' | 'nonce'>): string {
  return keyOf({ from: payer, nonce })
}

/** True if the transfer paid exactly this amount to this receiver. */
function isPaid(
  end: End | null,
  { pay_to: payTo, amount_micro_usdc: amount }: Pick<Payment, 'pay_to' | 'amount_micro_usdc'>,
): end is End {
  return (
    end !== null &&
    end.call.kind === 'transfer' &&
    end.call.to === payTo.toLowerCase() &&
    end.call.value === BigInt(amount)
  )
}

/** True if every node shows the end to requests made from then on. */
function wasVisible(end: End, sinceMs: number): boolean {
  return end.block.timeMs <= sinceMs - mostLagMs
}

function givenUp(payment: Payment, evidence: Evidence): string | null {
  const { end, headMs, hasFailed, requestedMs, watchedMs } = evidence
  const sinceMs = Math.min(requestedMs ?? Infinity, watchedMs ?? Infinity)
  if (isPaid(end, payment) && wasVisible(end, sinceMs)) return 'it is given up after it was paid'
  const isOver = headMs / 1000 >= payment.valid_before + overAfterSeconds
  return isOver || hasFailed || end !== null ? null : 'it is given up while it can be mined'
}

function finalized(before: Payment, after: Payment, evidence: Evidence): string | null {
  const { end, headMs, watchedMs } = evidence
  const isDelivered = before.delivered_at !== null
  if (isDelivered && after.delivered_at !== before.delivered_at) return 'its delivery changes'
  if (before.finality === after.finality) return null
  if (before.finality !== 'latest' || watchedMs === null) {
    return `${before.finality ?? ''} becomes ${after.finality ?? ''}`
  }
  if (after.finality === 'final') {
    const isThere = isPaid(end, after) && end.block.hash === after.block_hash
    return isThere ? null : 'it is final, and the chain does not have it in that block'
  }
  if (isPaid(end, after)) return 'it is undone, and the chain has it'
  return end !== null || headMs / 1000 >= after.valid_before ? null : 'it is undone too soon'
}

/** True if the authorization is not valid yet, or valid for too long, by the ledger's clock. */
function isEarly({ validAfter, validBefore }: Authorization, nowMs: number): boolean {
  const now = Math.floor(nowMs / 1000)
  if (validBefore < now + leastLifeSeconds) return false
  return validAfter >= now || validBefore > now + mostLifeSeconds
}
