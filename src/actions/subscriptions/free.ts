import { ApiError } from '../../contract/errors.ts'
import { toUsdc } from '../../core/money.ts'
import { cancelSubscription, switchToFree } from '../../core/partner.ts'
import { afterPurchase, quoteOf } from '../../core/subscription-price.ts'
import type { Offer } from '../../core/subscription-price.ts'
import { isoTime } from '../../core/time.ts'
import type { ActionDeps } from '../deps.ts'
import type { OutcomeOf } from '../idempotency.ts'
import { commitPartnerWrite } from '../partner-write.ts'
import type { PartnerWrite } from '../partner-write.ts'
import { SUBSCRIPTION_ACTION, recordChange } from './effect.ts'

/** @throws ApiError 403 for wallets without a partner */
export async function cancelOwnSubscription(
  deps: ActionDeps,
  write: PartnerWrite,
): Promise<OutcomeOf<'cancelSubscription'>> {
  return await changeWithoutMoney(deps, { ...write, action: 'cancelSubscription' }, 'cancelled')
}

/** Paid time is kept to its end. */
export async function changeToFree(
  deps: ActionDeps,
  write: PartnerWrite,
): Promise<OutcomeOf<'changeSubscription'>> {
  return await changeWithoutMoney(deps, { ...write, action: SUBSCRIPTION_ACTION }, 'free')
}

async function changeWithoutMoney(
  deps: ActionDeps,
  write: PartnerWrite & { readonly action: string },
  kind: 'cancelled' | 'free',
): Promise<OutcomeOf<'cancelSubscription' | 'changeSubscription'>> {
  const { nowMs } = write.request
  return await commitPartnerWrite(deps, { ...write, use: 'own' }, async (tx, partner) => {
    const change = kind === 'free' ? switchToFree : cancelSubscription
    const subscription = change(partner.subscription, nowMs)
    const tier = kind === 'free' ? kind : subscription.tier
    const done = { nowMs, change: { ...noMoney, kind, tier } }
    const body = await recordChange(deps, tx, { ...partner, subscription }, done)
    return { status: 200, body }
  })
}

/** An upgrade fully covered by the unused time of a lower tier. */
export async function upgradeWithCredit(
  deps: ActionDeps,
  write: PartnerWrite,
  offer: Offer,
): Promise<OutcomeOf<'changeSubscription'>> {
  const { request } = write
  const { nowMs } = request
  return await commitPartnerWrite(
    deps,
    { ...write, action: SUBSCRIPTION_ACTION, use: 'own' },
    async (tx, partner) => {
      // Repeats the check inside the transaction, since the credit may be used by now.
      const { dueMicroUsdc } = quoteOf(partner.subscription, offer, nowMs)
      if (dueMicroUsdc > 0) {
        throw new ApiError('conflict', 'The subscription has changed; request its price again')
      }
      const purchased = { ...offer, paidMicroUsdc: 0, quotedAtMs: nowMs }
      const { subscription, bought } = afterPurchase(partner.subscription, purchased, nowMs)
      const change = {
        ...noMoney,
        kind: 'credited',
        tier: offer.tier,
        credit_usdc: toUsdc(bought.valueMicroUsdc),
        from: isoTime(bought.fromMs),
        until: isoTime(bought.untilMs),
      } as const
      const { priceMicroUsdc } = offer
      const done = { nowMs, change, priceMicroUsdc, creditMicroUsdc: bought.valueMicroUsdc }
      const body = await recordChange(deps, tx, { ...partner, subscription }, done)
      return { status: 200, body }
    },
  )
}

const noMoney = {
  paid_usdc: 0,
  credit_usdc: 0,
  from: null,
  until: null,
  payer: null,
  tx_hash: null,
} as const
