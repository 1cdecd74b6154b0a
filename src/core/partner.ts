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

/** The change at the end of the paid time: a renewal, the free tier, or the end of the subscription. */
export const followUps = ['renewal', 'free', 'end'] as const
export type ExpiryAction = (typeof followUps)[number]

export interface PartnerSubscription {
  readonly tier: TierName
  readonly status: SubscriptionStatus
  readonly renewsAtMs: number | null
  readonly createdAtMs: number
  /** Price paid per 30 days of the remaining time; 0 for granted time. */
  readonly rateMicroUsdc: number
  readonly onExpiry: ExpiryAction
}

export function newSubscription(tier: TierName, nowMs: number): PartnerSubscription {
  const status = tier === 'free' ? 'active' : 'pending'
  const unpaid = { renewsAtMs: null, rateMicroUsdc: 0, onExpiry: 'renewal' } as const
  return { tier, status, createdAtMs: nowMs, ...unpaid }
}

export function subscriptionAt(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const { status, renewsAtMs, onExpiry } = subscription
  const hasEnded = status === 'active' && renewsAtMs !== null && nowMs >= renewsAtMs
  if (hasEnded && onExpiry === 'free') return freeOf(subscription)
  const moved = statusAt(subscription, nowMs)
  return moved === status ? subscription : { ...subscription, status: moved }
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

export function freeOf({ createdAtMs }: PartnerSubscription): PartnerSubscription {
  return newSubscription('free', createdAtMs)
}

export interface Extension {
  readonly tier: TierName
  /** Price of 30 days of the tier. */
  readonly priceMicroUsdc: number
  readonly addedMs: number
}

/**
 * Starts a paid tier now, or continues it from its end, even within the grace period. The rest of the time of another
 * tier counts at the rate paid for it, rounded up to a millisecond.
 */
export function extended(subscription: PartnerSubscription, bought: Extension, nowMs: number) {
  return withTime(subscription, bought, { rateMicroUsdc: bought.priceMicroUsdc, nowMs })
}

/** Adds time that is worth nothing in another tier. It starts now, or at the end of the tier. */
export function granted(subscription: PartnerSubscription, given: Extension, nowMs: number) {
  const current = subscriptionAt(subscription, nowMs)
  const start = current.status === 'past_due' ? { ...current, renewsAtMs: nowMs } : current
  return withTime(start, given, { rateMicroUsdc: 0, nowMs })
}

function withTime(
  subscription: PartnerSubscription,
  { tier, priceMicroUsdc, addedMs }: Extension,
  { rateMicroUsdc, nowMs }: { readonly rateMicroUsdc: number; readonly nowMs: number },
) {
  const current = subscriptionAt(subscription, nowMs)
  const { status, renewsAtMs } = current
  const endMs = status === 'active' || status === 'past_due' ? renewsAtMs : null
  const leftMs = Math.max(0, (endMs ?? nowMs) - nowMs)
  const isSame = current.tier === tier && endMs !== null
  const fromMs = isSame ? endMs : nowMs
  const restMs = isSame ? leftMs : shareUp(leftMs, current.rateMicroUsdc, priceMicroUsdc)
  const restRate = isSame ? current.rateMicroUsdc : priceMicroUsdc
  const untilMs = isSame ? endMs + addedMs : nowMs + restMs + addedMs
  const allMs = untilMs - nowMs
  const value = BigInt(restMs) * BigInt(restRate) + BigInt(allMs - restMs) * BigInt(rateMicroUsdc)
  const rate = Number(value / BigInt(allMs))
  const paid: PartnerSubscription = {
    ...current,
    tier,
    status: 'active',
    renewsAtMs: untilMs,
    rateMicroUsdc: rate,
    onExpiry: 'renewal',
  }
  return { subscription: paid, fromMs, untilMs }
}

/** Deducts the value of a reversed payment, at most the remaining time. */
export function withoutPayment(
  subscription: PartnerSubscription,
  paidMicroUsdc: number,
  nowMs: number,
): PartnerSubscription {
  const { renewsAtMs, rateMicroUsdc } = subscription
  if (renewsAtMs === null || renewsAtMs <= nowMs || rateMicroUsdc === 0) return subscription
  const boughtMs = shareUp(PERIOD_MS, paidMicroUsdc, rateMicroUsdc)
  const left = { ...subscription, renewsAtMs: Math.max(nowMs, renewsAtMs - boughtMs) }
  return subscriptionAt(left, nowMs)
}

/** Rounded up; exact beyond 2^53. */
function shareUp(whole: number, part: number, total: number): number {
  const [product, divisor] = [BigInt(whole) * BigInt(part), BigInt(total)]
  return Number((product + divisor - 1n) / divisor)
}

/** Takes effect at the end of the paid time, or now without paid time. */
export function switchToFree(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const current = subscriptionAt(subscription, nowMs)
  return hasPaidTime(current, nowMs) ? { ...current, onExpiry: 'free' } : freeOf(subscription)
}

/** Takes effect as `switchToFree` does. */
export function cancelSubscription(
  subscription: PartnerSubscription,
  nowMs: number,
): PartnerSubscription {
  const current = subscriptionAt(subscription, nowMs)
  if (hasPaidTime(current, nowMs)) return { ...current, onExpiry: 'end' }
  return { ...current, status: 'cancelled' }
}

function hasPaidTime({ renewsAtMs }: PartnerSubscription, nowMs: number): boolean {
  return renewsAtMs !== null && renewsAtMs > nowMs
}

/** Partners in the grace period may read but not write. */
export function mayUse(status: SubscriptionStatus, use: 'read' | 'write'): boolean {
  return status === 'active' || (status === 'past_due' && use === 'read')
}
