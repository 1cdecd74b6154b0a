import { dayMs } from './time.ts'

/** Words that are paths under `/partners` or look official. */
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

export function isFreeHandle(handle: string): boolean {
  return HANDLE.test(handle) && !reservedHandles.some((reserved) => reserved === handle)
}

export const subscriptionStatuses = ['pending', 'active', 'past_due', 'cancelled'] as const
export type SubscriptionStatus = (typeof subscriptionStatuses)[number]

export const PERIOD_MS = 30 * dayMs
export const GRACE_MS = 7 * dayMs
export const PATIENCE_MS = 14 * dayMs

export const tierNames = ['free', 'starter', 'pro', 'team', 'enterprise'] as const
export type TierName = (typeof tierNames)[number]

export interface PaidPeriod {
  readonly tier: TierName
  readonly fromMs: number
  readonly untilMs: number
  /** 0 for tiers granted by the operator. */
  readonly valueMicroUsdc: number
}

/** What follows the paid time: a renewal, the free tier, or the end of the subscription. */
export const followUps = ['renewal', 'free', 'end'] as const
export type ExpiryAction = (typeof followUps)[number]

export interface PartnerSubscription {
  readonly tier: TierName
  readonly status: SubscriptionStatus
  readonly renewsAtMs: number | null
  readonly createdAtMs: number
  /** In order and without gaps; may include past periods. */
  readonly periods: readonly PaidPeriod[]
  readonly onExpiry: ExpiryAction
}

export function newSubscription(tier: TierName, nowMs: number): PartnerSubscription {
  const status = tier === 'free' ? 'active' : 'pending'
  return { tier, status, renewsAtMs: null, createdAtMs: nowMs, periods: [], onExpiry: 'renewal' }
}

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
  const moved = statusAt(subscription, nowMs)
  if (moved === status) return subscription
  const tier = subscription.periods.at(-1)?.tier ?? subscription.tier
  return { ...subscription, tier, status: moved }
}

export function periodsFrom(
  { periods }: Pick<PartnerSubscription, 'periods'>,
  nowMs: number,
): readonly PaidPeriod[] {
  return periods.filter(({ untilMs }) => untilMs > nowMs)
}

/** The wallet of a cancelled subscription keeps its handle and may pay again. */
function statusAt(
  { status, renewsAtMs, createdAtMs, onExpiry }: PartnerSubscription,
  nowMs: number,
): SubscriptionStatus {
  if (status === 'pending') return nowMs >= createdAtMs + PATIENCE_MS ? 'cancelled' : status
  if (status === 'cancelled' || renewsAtMs === null || nowMs < renewsAtMs) return status
  if (status === 'active' && onExpiry === 'end') return 'cancelled'
  return nowMs < renewsAtMs + GRACE_MS ? 'past_due' : 'cancelled'
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

export function switchToFree(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const current = subscriptionAt(subscription, nowMs)
  return periodsFrom(current, nowMs).length > 0
    ? { ...current, onExpiry: 'free' }
    : freeOf(subscription)
}

/** Keeps paid time until its end; without paid time the subscription ends now. */
export function cancelSubscription(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const current = subscriptionAt(subscription, nowMs)
  if (periodsFrom(current, nowMs).length > 0) return { ...current, onExpiry: 'end' }
  return { ...current, status: 'cancelled' }
}

/** Grants a tier that is worth nothing in an upgrade. Paid time starts after the granted time. */
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

/** Partners in the grace period may read but not write. */
export function mayUse(status: SubscriptionStatus, use: 'read' | 'write'): boolean {
  return status === 'active' || (status === 'past_due' && use === 'read')
}
