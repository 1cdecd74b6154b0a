import { pathOf } from '../../contract/routes.ts'
import type { OwnSubscription } from '../../contract/schemas/partner.ts'
import type { PaymentTerms } from '../../contract/x402.ts'
import { microPerUsdc } from '../../core/money.ts'
import { GRACE_MS, PATIENCE_MS } from '../../core/partner.ts'
import type { PartnerSubscription, TierName } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import type { ActionDeps } from '../deps.ts'
import type { CurrentPartner } from '../partner-access.ts'
import { receiverOf } from '../premium.ts'
import type { Reference } from '../reference.ts'

type SubscriptionTimes = Pick<OwnSubscription, 'renews_at' | 'next'>
type Prices = Pick<Reference, 'tiers'>

export function subscriptionView(
  reference: Prices,
  { handle, subscription }: Pick<CurrentPartner, 'handle' | 'subscription'>,
  change: OwnSubscription['change'],
): OwnSubscription {
  const { tier, status } = subscription
  return { handle, tier, status, ...subscriptionTimes(reference, subscription), change }
}

export function subscriptionTimes(
  reference: Prices,
  subscription: PartnerSubscription,
): SubscriptionTimes {
  const { renewsAtMs } = subscription
  return {
    renews_at: renewsAtMs === null ? null : isoTime(renewsAtMs),
    next: nextOf(reference, subscription),
  }
}

function nextOf(reference: Prices, subscription: PartnerSubscription): SubscriptionTimes['next'] {
  const { tier, status, renewsAtMs, createdAtMs, onExpiry } = subscription
  const due = (of: TierName) => ({ tier: of, price_usdc: priceUsdcOf(reference, of) })
  if (status === 'pending') {
    return { kind: 'end', at: isoTime(createdAtMs + PATIENCE_MS), ...due(tier) }
  }
  if (renewsAtMs === null || status === 'cancelled') return null
  if (status === 'past_due') {
    return { kind: 'end', at: isoTime(renewsAtMs + GRACE_MS), ...due(tier) }
  }
  const at = isoTime(renewsAtMs)
  if (onExpiry === 'free') return { kind: 'free', at, tier: 'free', price_usdc: null }
  if (onExpiry === 'end') return { kind: 'end', at, tier: null, price_usdc: null }
  return { kind: 'payment', at, ...due(tier) }
}

/** Price of 30 days. */
function priceUsdcOf({ tiers }: Prices, tier: TierName): number {
  const found = tiers.get(tier)
  if (found === undefined) throw new Error(`there is no tier ${tier}`)
  return found.price_usdc_month
}

export function priceMicroUsdcOf(reference: Prices, tier: TierName): number {
  return Math.round(priceUsdcOf(reference, tier) * microPerUsdc)
}

/** Payment terms for 30 days of a tier. */
export function termsOfTier(
  { site, payments }: Pick<ActionDeps, 'site' | 'payments'>,
  { handle }: Pick<CurrentPartner, 'handle'>,
  { tier, amountMicroUsdc }: { readonly tier: TierName; readonly amountMicroUsdc: number },
): PaymentTerms {
  return {
    resource: `${site.url}${pathOf('changeSubscription')}`,
    description: `Tier ${tier} for the partner ${handle}`,
    mimeType: 'application/json',
    amountMicroUsdc,
    payTo: receiverOf(payments),
  }
}
