import { ApiError } from '../contract/errors.ts'
import type { Tier } from '../contract/schemas/partner.ts'
import { mayUse, subscriptionAt } from '../core/partner.ts'
import { findPartner } from '../db/partners.ts'
import type { PartnerRecord } from '../db/partners.ts'
import type { Db } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import type { SignedProof } from './idempotency.ts'
import type { Reference } from './reference.ts'

export interface BearerProof extends SignedProof {
  /** `body`: the signature also covers the raw body. */
  readonly binding: 'path' | 'body'
  /** The wallet as in the credentials. */
  readonly sentWallet: string
}

export type CurrentPartner = PartnerRecord

/** Path in the registry, without `/api/v1`. */
export type PremiumRead = `/${string}`

export function partnerAt(partner: PartnerRecord, nowMs: number): CurrentPartner {
  return { ...partner, subscription: subscriptionAt(partner.subscription, nowMs) }
}

/**
 * `past_due` allows reads only; `own` allows any state, so that late partners can pay. @throws ApiError 403
 * `not_a_partner`, 401 `body_signature_required`
 */
export async function requirePartner(
  db: Db,
  proof: BearerProof,
  { use, nowMs }: { readonly use: 'read' | 'write' | 'own'; readonly nowMs: number },
): Promise<CurrentPartner> {
  const found = await findPartner(db, { wallet: proof.wallet.id })
  if (found === null) throw new ApiError('not_a_partner')
  const partner = partnerAt(found, nowMs)
  const { status } = partner.subscription
  if (use !== 'own' && !mayUse(status, use)) {
    throw new ApiError(
      'not_a_partner',
      `The subscription is ${status}: choose a tier with POST /api/v1/partners/subscription`,
    )
  }
  if (use !== 'read' && partner.requireBodySignature && proof.binding !== 'body') {
    throw new ApiError('body_signature_required')
  }
  return partner
}

export function tierOf(
  reference: Pick<Reference, 'tiers'>,
  { subscription }: Pick<CurrentPartner, 'subscription'>,
): Tier {
  const found = reference.tiers.get(subscription.tier)
  if (found === undefined) throw new Error(`there is no tier ${subscription.tier}`)
  return found
}

export async function walletTerms(
  deps: Pick<ActionDeps, 'clock' | 'database' | 'reference'>,
  walletId: string,
): Promise<{ readonly multiplier: number | null; readonly isPaid: boolean }> {
  const found = await findPartner(deps.database.reader, { wallet: walletId })
  const partner = found === null ? null : partnerAt(found, deps.clock.now())
  if (partner === null || !mayUse(partner.subscription.status, 'read')) {
    return { multiplier: 1, isPaid: false }
  }
  const { wallet_rate_multiplier: multiplier, price_usdc_month: price } = tierOf(
    deps.reference(),
    partner,
  )
  return { multiplier, isPaid: price > 0 }
}
