/** Partners: handles, and the states of a subscription as one table. Pure. */
import { dayMs } from './time.ts'

/** Words that are paths below `/partners`, or that could be taken for the ledger's own voice. */
const reservedHandles = [
  'admin',
  'api',
  'attestation-endpoint',
  'ledger',
  'list',
  'oaths',
  'operator',
  'signup',
  'subscription',
  'tiers',
] as const

export const HANDLE = /^[a-z0-9-]{3,32}$/

/** Whether a partner may have this handle; it may still be taken. */
export function isFreeHandle(handle: string): boolean {
  return HANDLE.test(handle) && !reservedHandles.some((reserved) => reserved === handle)
}

export const subscriptionStatuses = ['pending', 'active', 'past_due', 'cancelled'] as const
export type SubscriptionStatus = (typeof subscriptionStatuses)[number]

/**
 * What can happen: a payment came, the paid period ended, the time to pay ran out (grace after a period,
 * patience with a signup that never paid), or it was cancelled.
 */
export const subscriptionEvents = ['paid', 'period_over', 'time_to_pay_over', 'cancel'] as const
export type SubscriptionEvent = (typeof subscriptionEvents)[number]

/** The next status; null where the event changes nothing or cannot happen. */
export const subscriptionMoves = {
  pending: {
    paid: 'active',
    period_over: null,
    time_to_pay_over: 'cancelled',
    cancel: 'cancelled',
  },
  active: {
    paid: 'active',
    period_over: 'past_due',
    time_to_pay_over: null,
    cancel: 'cancelled',
  },
  past_due: {
    paid: 'active',
    period_over: null,
    time_to_pay_over: 'cancelled',
    cancel: 'cancelled',
  },
  // The handle stays with the wallet: who pays again is back.
  cancelled: { paid: 'active', period_over: null, time_to_pay_over: null, cancel: null },
} as const satisfies Record<
  SubscriptionStatus,
  Record<SubscriptionEvent, SubscriptionStatus | null>
>

/** What one payment buys. */
export const PERIOD_MS = 30 * dayMs
/** How long a partner whose period has ended still reads. */
export const GRACE_MS = 7 * dayMs
/** How long a signup waits for its first payment. */
export const PATIENCE_MS = 14 * dayMs

export interface Subscription {
  readonly tier: string
  readonly status: SubscriptionStatus
  /** Unix milliseconds; null for the free tier, which has no end, and before the first payment. */
  readonly renewsAtMs: number | null
  readonly createdAtMs: number
}

/** A subscription as it begins: free is active at once, the others wait for their first payment. */
export function newSubscription(tier: string, nowMs: number): Subscription {
  const status = tier === 'free' ? 'active' : 'pending'
  return { tier, status, renewsAtMs: null, createdAtMs: nowMs }
}

/**
 * The subscription as it stands at a time: whatever has run out by then has run out, also where nobody
 * has written so yet.
 */
export function subscriptionAt(subscription: Subscription, nowMs: number): Subscription {
  let { status } = subscription
  for (const event of eventsUntil(subscription, nowMs)) {
    status = subscriptionMoves[status][event] ?? status
  }
  return status === subscription.status ? subscription : { ...subscription, status }
}

function eventsUntil(
  { status, renewsAtMs, createdAtMs }: Subscription,
  nowMs: number,
): readonly SubscriptionEvent[] {
  if (status === 'pending') {
    return nowMs >= createdAtMs + PATIENCE_MS ? ['time_to_pay_over'] : []
  }
  if (renewsAtMs === null || nowMs < renewsAtMs) return []
  return nowMs < renewsAtMs + GRACE_MS ? ['period_over'] : ['period_over', 'time_to_pay_over']
}

/**
 * The subscription after a payment for a tier. Paid ahead or within the grace, the new period follows
 * the old one; else, and for another tier, it begins now.
 */
export function afterPayment(
  subscription: Subscription,
  tier: string,
  nowMs: number,
): Subscription {
  const { status, tier: before, renewsAtMs } = subscriptionAt(subscription, nowMs)
  const follows = tier === before && (status === 'active' || status === 'past_due')
  const fromMs = follows && renewsAtMs !== null ? renewsAtMs : nowMs
  return {
    ...subscription,
    tier,
    status: subscriptionMoves[status].paid,
    renewsAtMs: fromMs + PERIOD_MS,
  }
}

/** What a partner may do by status: only an active one writes, one that is late still reads. */
export function mayUse(status: SubscriptionStatus, use: 'read' | 'write'): boolean {
  return status === 'active' || (status === 'past_due' && use === 'read')
}
