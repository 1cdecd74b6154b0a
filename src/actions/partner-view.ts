/** What is answered of a partner. No form of it has an e-mail address. */
import type { Kysely } from 'kysely'

import { apiPrefix } from '../contract/route.ts'
import type { OathEntry, OwnPartner, SignupAnswer } from '../contract/schemas/partner.ts'
import { limitPolicies } from '../core/limits.ts'
import { dayMs, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'
import type { OathRow } from '../db/oaths.ts'
import { partnerView } from '../db/partner-view.ts'
import { countPartnerWrites } from '../db/partners.ts'
import type { Database } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { tierOf } from './partner-access.ts'
import type { CurrentPartner } from './partner-access.ts'

const USAGE_DAYS = 30

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
