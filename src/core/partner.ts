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
export const subscriptionTransitions = {
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

/** What one payment buys at its full price. */
export const PERIOD_MS = 30 * dayMs
/** How long a partner whose period has ended still reads. */
export const GRACE_MS = 7 * dayMs
/** How long a signup waits for its first payment. */
export const PATIENCE_MS = 14 * dayMs

/** Tiers from the lowest to the highest. */
export const tierNames = ['free', 'starter', 'pro', 'team', 'enterprise'] as const
export type TierName = (typeof tierNames)[number]

/** Time of a tier that was paid for. */
export interface PaidPeriod {
  readonly tier: TierName
  /** Unix milliseconds; the end is not part of it. */
  readonly fromMs: number
  readonly untilMs: number
  /** What it was bought with; 0 where the operator gave it. */
  readonly valueMicroUsdc: number
}

/** What follows the time that is paid for: a payment that is waited for, the free tier, or nothing. */
export const followUps = ['renewal', 'free', 'end'] as const
export type ExpiryAction = (typeof followUps)[number]

export interface PartnerSubscription {
  readonly tier: TierName
  readonly status: SubscriptionStatus
  /** Unix milliseconds; null for the free tier, which has no end, and before the first payment. */
  readonly renewsAtMs: number | null
  readonly createdAtMs: number
  /** In order, each beginning where the one before ends; those that are over may still stand here. */
  readonly periods: readonly PaidPeriod[]
  readonly onExpiry: ExpiryAction
}

/** A subscription as it begins: free is active at once, the others wait for their first payment. */
export function newSubscription(tier: TierName, nowMs: number): PartnerSubscription {
  const status = tier === 'free' ? 'active' : 'pending'
  return { tier, status, renewsAtMs: null, createdAtMs: nowMs, periods: [], onExpiry: 'renewal' }
}

/**
 * The subscription as it stands at a time: whatever has run out by then has run out, also where nobody
 * has written so yet.
 */
export function subscriptionAt(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const { status, renewsAtMs, onExpiry } = subscription
  if (status === 'active' && renewsAtMs !== null) {
    if (nowMs >= renewsAtMs && onExpiry === 'free') return freeOf(subscription)
    const [current] = periodsFrom(subscription, nowMs)
    if (current !== undefined) {
      return current.tier === subscription.tier
        ? subscription
        : { ...subscription, tier: current.tier }
    }
  }
  let moved: SubscriptionStatus = status
  for (const event of eventsUntil(subscription, nowMs)) {
    moved = subscriptionTransitions[moved][event] ?? moved
  }
  if (moved === status) return subscription
  const tier = subscription.periods.at(-1)?.tier ?? subscription.tier
  return { ...subscription, tier, status: moved }
}

/** Paid time that is not over at a time. */
export function periodsFrom(
  { periods }: Pick<PartnerSubscription, 'periods'>,
  nowMs: number,
): readonly PaidPeriod[] {
  return periods.filter(({ untilMs }) => untilMs > nowMs)
}

function eventsUntil(
  { status, renewsAtMs, createdAtMs, onExpiry }: PartnerSubscription,
  nowMs: number,
): readonly SubscriptionEvent[] {
  if (status === 'pending') {
    return nowMs >= createdAtMs + PATIENCE_MS ? ['time_to_pay_over'] : []
  }
  if (renewsAtMs === null || nowMs < renewsAtMs) return []
  if (status === 'active' && onExpiry === 'end') return ['cancel']
  return nowMs < renewsAtMs + GRACE_MS ? ['period_over'] : ['period_over', 'time_to_pay_over']
}

function freeOf(subscription: PartnerSubscription): PartnerSubscription {
  return {
    ...subscription,
    tier: 'free',
    status: 'active',
    renewsAtMs: null,
    periods: [],
    onExpiry: 'renewal',
  }
}

/** The free tier: at once, or when the time that is paid for ends. */
export function switchToFree(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const current = subscriptionAt(subscription, nowMs)
  return periodsFrom(current, nowMs).length > 0
    ? { ...current, onExpiry: 'free' }
    : freeOf(subscription)
}

/** What is paid for stays until its end; a subscription without paid time ends at once. */
export function cancelSubscription(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const current = subscriptionAt(subscription, nowMs)
  if (periodsFrom(current, nowMs).length > 0) return { ...current, onExpiry: 'end' }
  const status = subscriptionTransitions[current.status].cancel
  return status === null ? current : { ...current, status }
}

/** A tier that the operator gives, worth nothing in an exchange. Time that was paid for waits until it is over. */
export function grantTier(
  subscription: PartnerSubscription,
  grant: { readonly tier: TierName; readonly days: number },
  nowMs: number,
): PartnerSubscription {
  if (grant.tier === 'free') return freeOf(subscription)
  const { tier, days } = grant
  const untilMs = nowMs + days * dayMs
  const given = { tier, fromMs: nowMs, untilMs, valueMicroUsdc: 0 }
  const waiting = periodsFrom(subscription, nowMs).map((period) => ({
    ...period,
    fromMs: period.fromMs + days * dayMs,
    untilMs: period.untilMs + days * dayMs,
  }))
  const periods = [given, ...waiting]
  const renewsAtMs = waiting.at(-1)?.untilMs ?? untilMs
  return { ...subscription, tier, status: 'active', renewsAtMs, periods, onExpiry: 'renewal' }
}

/** What a partner may do by status: only an active one writes, one that is late still reads. */
export function mayUse(status: SubscriptionStatus, use: 'read' | 'write'): boolean {
  return status === 'active' || (status === 'past_due' && use === 'read')
}
