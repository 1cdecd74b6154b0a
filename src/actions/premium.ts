import type { ApiError } from '../contract/errors.ts'
import { pathOf } from '../contract/routes.ts'
import type { PaymentTerms } from '../contract/x402.ts'
import { NO_RECEIVER, paymentOff, paymentRequired } from '../payments/challenge.ts'
import type { PaymentOffer } from '../payments/challenge.ts'
import type { Payments } from '../payments/settler.ts'
import type { ActionDeps } from './deps.ts'
import { requirePartner, tierOf } from './partner-access.ts'
import type { BearerProof, PremiumRead } from './partner-access.ts'

/** Returns null if the tier includes the read, else the reason. @throws ApiError 403 for wallets without a partner */
export async function notCovered(
  deps: Pick<ActionDeps, 'database' | 'reference'>,
  proof: BearerProof,
  premium: PremiumRead,
  nowMs: number,
): Promise<string | null> {
  const partner = await requirePartner(deps.database.reader, proof, { use: 'read', nowMs })
  const tier = tierOf(deps.reference(), partner)
  return tier.covers.includes(premium)
    ? null
    : `The tier ${tier.tier} does not include ${premium}; these do: ${tiersWith(deps, premium)}`
}

function tiersWith({ reference }: Pick<ActionDeps, 'reference'>, premium: PremiumRead): string {
  const tiers = [...reference().tiers.values()].filter(({ covers }) => covers.includes(premium))
  return tiers.map(({ tier }) => tier).join(', ')
}

export function receiverOf({ receiver }: Payments): PaymentTerms['payTo'] {
  return receiver ?? NO_RECEIVER
}

/** Contains payment terms unless payments are off. */
export function unpaid(
  deps: Pick<ActionDeps, 'payments' | 'reference'>,
  premium: PremiumRead,
  offer: PaymentOffer,
  why: { readonly code: 'payment_required' | 'tier_required'; readonly details?: string },
): ApiError {
  const { code, details } = why
  if (deps.payments.mode !== 'off') return paymentRequired(code, offer, details)
  const off = 'Payments are off: neither reads nor tiers can be bought here'
  const text =
    details === undefined
      ? `${off}. Partners (POST ${pathOf('signupPartner')}) can read this in the tiers ${tiersWith(deps, premium)}`
      : `${details}. ${off}`
  return paymentOff(code === 'payment_required' ? 'payment_off' : code, text)
}
