/** What is answered of a partner. No form of it has an e-mail address. */
import type { Kysely } from 'kysely'

import { apiPrefix } from '../contract/route.ts'
import type { OathEntry, OwnPartner, Partner, SignupAnswer } from '../contract/schemas/partner.ts'
import { limitPolicies } from '../core/limits.ts'
import { dayMs, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'
import type { OathRow } from '../db/oaths.ts'
import { countPartnerWrites } from '../db/partners.ts'
import type { Database } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { tierOf } from './partner-access.ts'
import type { CurrentPartner } from './partner-access.ts'

const USAGE_DAYS = 30

/** The public record. */
export function partnerView(partner: CurrentPartner): Partner {
  const { attestation, subscription } = partner
  return {
    handle: partner.handle,
    display_name: partner.displayName,
    wallet: partner.display,
    tier: subscription.tier,
    status: subscription.status,
    skills: [...partner.skills],
    ...(partner.website === null ? {} : { website: partner.website }),
    ...(partner.bioShort === null ? {} : { bio_short: partner.bioShort }),
    attestation_endpoint_url: attestation.url,
    attestation_signature_sha256: attestation.signatureSha256,
    attestation_signed_at: attestation.signedAt,
    oath_signed_at: partner.oathSignedAt,
    created_at: partner.createdAt,
  }
}

/** The answer to a signup; where a payment is due, its terms. */
export function signupView(
  { reference, siteUrl }: Pick<ActionDeps, 'reference' | 'siteUrl'>,
  partner: CurrentPartner,
): SignupAnswer {
  if (partner.subscription.status !== 'pending') return partnerView(partner)
  const { tier, price_usdc_month: priceUsdc } = tierOf(reference(), partner)
  const payTo = `${siteUrl}${apiPrefix}/partners/subscription`
  return { ...partnerView(partner), payment: { price_usdc: priceUsdc, tier, pay_to: payTo } }
}

/** The record as its owner sees it. `callsLeft` is what the wallet may still call right now. */
export async function ownPartnerView(
  db: Kysely<Database>,
  { reference }: Pick<ActionDeps, 'reference'>,
  partner: CurrentPartner,
  { callsLeft, nowMs }: { readonly callsLeft: number | null; readonly nowMs: number },
): Promise<OwnPartner> {
  const { wallet_rate_multiplier: multiplier, covers } = tierOf(reference(), partner)
  const { renewsAtMs } = partner.subscription
  const since = isoTime(nowMs - USAGE_DAYS * dayMs)
  return {
    ...partnerView(partner),
    require_body_signature: partner.requireBodySignature,
    renews_at: renewsAtMs === null ? null : isoTime(renewsAtMs),
    limits: {
      requests_per_minute: multiplier === null ? null : multiplier * limitPolicies.wallet.quota,
      covers: [...covers],
    },
    usage: {
      requests_remaining: callsLeft,
      writes_30d: await countPartnerWrites(db, partner.handle, since),
    },
  }
}

/** A row of the history of oaths. */
export function oathView(row: OathRow): OathEntry {
  return {
    kind: row.kind,
    action: row.action,
    wallet: parseWallet(row.wallet).display,
    message_sha256: row.messageSha256,
    signature_sha256: row.signatureSha256,
    binding: row.binding,
    time: row.createdAt,
  }
}
