/** Allowed changes of payment rows, given the chain and the open requests. */
import { mostLagMs } from '../chain/usdc.ts'
import type { End } from '../chain/usdc.ts'
import type { Payment, State } from './state.ts'

const leastLifeSeconds = 10
const mostLifeSeconds = 3600
/** A transfer cannot be mined this long after its expiry. */
const surelyOverSeconds = 60

/** The facts that justify a change of a payment row. */
export interface Evidence {
  /** The end of the authorization on the chain, if any. */
  readonly end: End | null
  readonly headMs: number
  /** The effect of a transaction in a block that is, or was before a fork, part of the chain. */
  readonly endIn: (txHash: string, blockHash: string) => End | null
  /** One of our transactions for it reverted. */
  readonly hasFailed: boolean
  /** Time of the chain's head when the first open request with this payment for this resource began; null without one. */
  readonly askedMs: number | null
  /** The same for the running payment watch. */
  readonly watchedMs: number | null
}

/** True if the transfer paid exactly this amount to this receiver. */
export function isPaid(
  end: End | null,
  { payTo, amountMicro }: Pick<Payment, 'payTo' | 'amountMicro'>,
): end is End {
  return (
    end !== null &&
    end.call.kind === 'transfer' &&
    end.call.to === payTo.toLowerCase() &&
    end.call.value === BigInt(amountMicro)
  )
}

/** True if every node shows the end to requests made from then on. */
export function wasThere(end: End, sinceMs: number): boolean {
  return end.block.timeMs <= sinceMs - mostLagMs
}

/** Returns the problem of a change of a payment row, or null. */
export function findInvalidChange(
  before: Payment | null,
  after: Payment | null,
  evidence: Evidence,
): string | null {
  const { askedMs, watchedMs } = evidence
  if (after === null) {
    return before?.state === 'reserved' ? null : `what is ${before?.state ?? ''} is forgotten`
  }
  if (before === null) {
    if (after.state !== 'reserved') return `it begins as ${after.state}`
    return askedMs === null ? 'nobody asks for that' : null
  }
  const change = `${before.state} becomes ${after.state}`
  switch (after.state) {
    case 'reserved':
      if (before.state !== 'failed' && before.state !== 'reserved') return change
      return askedMs === null ? `${change}, and nobody asks` : null
    case 'submitted':
      if (before.state !== 'reserved' && before.state !== 'submitted') return change
      return askedMs === null ? `${change}, and nobody asks` : null
    case 'failed':
      return before.state === 'submitted' ? givenUpWrongly(after, evidence) : change
    case 'settled':
      break
  }
  if (before.state === 'settled') return settledWrongly(before, after, evidence)
  if (askedMs === null && watchedMs === null) return `${change}, and nobody looks`
  const { txHash, blockHash } = after
  const end = txHash === null || blockHash === null ? null : evidence.endIn(txHash, blockHash)
  if (!isPaid(end, after)) return `${change}, and the chain had no such transfer`
  if (after.isDelivered && askedMs === null) return 'it is delivered, and nobody asks'
  return null
}

function givenUpWrongly(
  payment: Payment,
  { end, headMs, hasFailed, askedMs, watchedMs }: Evidence,
): string | null {
  const sinceMs = Math.min(askedMs ?? Infinity, watchedMs ?? Infinity)
  if (isPaid(end, payment) && wasThere(end, sinceMs)) return 'it is given up, and has been paid'
  const isOver = headMs / 1000 >= payment.validBefore + surelyOverSeconds
  return isOver || hasFailed || end !== null ? null : 'it is given up, and can still be mined'
}

function settledWrongly(before: Payment, after: Payment, evidence: Evidence): string | null {
  const { end, headMs, askedMs, watchedMs } = evidence
  if (before.isDelivered && !after.isDelivered) return 'a delivery is taken back'
  if (!before.isDelivered && after.isDelivered) {
    if (askedMs === null) return 'it is delivered, and nobody asks'
  }
  if (before.finality === after.finality) return null
  if (before.finality !== 'latest' || watchedMs === null) {
    return `${before.finality ?? ''} becomes ${after.finality ?? ''}`
  }
  if (after.finality === 'final') {
    const isThere = isPaid(end, after) && end.block.hash === after.blockHash
    return isThere ? null : 'it is final, and the chain does not have it there'
  }
  if (isPaid(end, after)) return 'it is undone, and the chain has it'
  return end !== null || headMs / 1000 >= after.validBefore ? null : 'it is undone too soon'
}

/** The reason to refuse an authorization for its time, by the ledger's clock. */
export function timeFlaw(
  { validAfter, validBefore }: { readonly validAfter: number; readonly validBefore: number },
  nowMs: number,
): 'late' | 'early' | null {
  const now = Math.floor(nowMs / 1000)
  if (validBefore < now + leastLifeSeconds) return 'late'
  return validAfter >= now || validBefore > now + mostLifeSeconds ? 'early' : null
}

/** The sum of settled payments that were not undone, in micro-USDC. */
export function takenMicro({ payments }: Pick<State, 'payments'>): number {
  return [...payments.values()]
    .filter(({ state, finality }) => state === 'settled' && finality !== 'undone')
    .reduce((sum, { amountMicro }) => sum + amountMicro, 0)
}
