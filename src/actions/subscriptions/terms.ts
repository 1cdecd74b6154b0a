import { pathOf } from '../../contract/routes.ts'
import type { PaymentTerms } from '../../contract/x402.ts'
import type { TierName } from '../../core/partner.ts'
import type { ActionDeps } from '../deps.ts'
import type { CurrentPartner } from '../partner-access.ts'
import { receiverOf } from '../premium.ts'

export function termsOfTier(
  { siteUrl, payments }: Pick<ActionDeps, 'siteUrl' | 'payments'>,
  { handle }: Pick<CurrentPartner, 'handle'>,
  { tier, amountMicroUsdc }: { readonly tier: TierName; readonly amountMicroUsdc: number },
): PaymentTerms {
  return {
    resource: `${siteUrl}${pathOf('changeSubscription')}`,
    description: `Tier ${tier} for the partner ${handle}`,
    mimeType: 'application/json',
    amountMicroUsdc,
    payTo: receiverOf(payments),
  }
}
