import type { OathEntry, OwnPartner, SignupAnswer } from '../contract/schemas/partner.ts'
import { acceptsV1, acceptsV2 } from '../contract/x402.ts'
import { limitPolicies } from '../core/limits.ts'
import { toUsdc } from '../core/money.ts'
import { dayMs, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'
import type { OathRow } from '../db/oaths.ts'
import { partnerView } from '../db/partners/record.ts'
import { countRows, selectRecords } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { tierOf } from './partner-access.ts'
import type { CurrentPartner } from './partner-access.ts'
import { priceMicroUsdcOf, subscriptionTimes, termsOfTier } from './subscriptions/terms.ts'

const USAGE_DAYS = 30

export function signupView(
  deps: Pick<ActionDeps, 'reference' | 'site' | 'payments'>,
  partner: CurrentPartner,
): SignupAnswer {
  const { status, tier } = partner.subscription
  if (status !== 'pending') return partnerView(partner)
  const terms = termsOfTier(deps, partner, {
    tier,
    amountMicroUsdc: priceMicroUsdcOf(deps.reference(), tier),
  })
  const isPayable = deps.payments.mode !== 'off'
  return {
    ...partnerView(partner),
    payment: {
      price_usdc: toUsdc(terms.amountMicroUsdc),
      tier,
      pay_to: terms.resource,
      accepts_v1: isPayable ? [acceptsV1(terms)] : [],
      accepts_v2: isPayable ? [acceptsV2(terms)] : [],
    },
  }
}

/** `callsLeft`: calls that the wallet's rate limit still permits. */
export async function ownPartnerView(
  db: Db,
  { reference }: Pick<ActionDeps, 'reference'>,
  partner: CurrentPartner,
  { callsLeft, nowMs }: { readonly callsLeft: number | null; readonly nowMs: number },
): Promise<OwnPartner> {
  const { wallet_rate_multiplier: multiplier, covers } = tierOf(reference(), partner)
  const since = isoTime(nowMs - USAGE_DAYS * dayMs)
  return {
    ...partnerView(partner),
    require_body_signature: partner.requireBodySignature,
    ...subscriptionTimes(reference(), partner.subscription),
    limits: {
      requests_per_minute: multiplier === null ? null : multiplier * limitPolicies.wallet.quota,
      covers: [...covers],
    },
    usage: {
      requests_remaining: callsLeft,
      writes_30d: await countRows(
        selectRecords(db, 'oath_history', { handle: partner.handle }).where(
          'created_at',
          '>',
          since,
        ),
      ),
    },
  }
}

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
