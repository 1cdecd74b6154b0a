import { ApiError } from '../../contract/errors.ts'
import { toUsdc } from '../../core/money.ts'
import { cancelSubscription, switchToFree } from '../../core/partner.ts'
import { afterPurchase, quoteOf } from '../../core/subscription-price.ts'
import type { Offer } from '../../core/subscription-price.ts'
import { isoTime } from '../../core/time.ts'
import type { ActionDeps } from '../deps.ts'
import type { OutcomeOf } from '../idempotency.ts'
import { commitOwnWrite } from '../partner-write.ts'
import type { PartnerWrite } from '../partner-write.ts'
import { SUBSCRIPTION_ACTION, recordChange } from './effect.ts'

/** @throws ApiError 403 for wallets without a partner */
export async function cancelOwnSubscription(
  deps: ActionDeps,
  write: PartnerWrite,
): Promise<OutcomeOf<'cancelSubscription'>> {
  const { nowMs } = write.request
  const action = 'cancelSubscription'
  return await commitOwnWrite(deps, { ...write, action }, async (tx, partner) => {
    const subscription = cancelSubscription(partner.subscription, nowMs)
    const change = { ...noMoney, kind: 'cancelled', tier: subscription.tier } as const
    const body = await recordChange(deps, tx, { ...partner, subscription }, { nowMs, change })
    return { status: 200, body }
  })
}

/** Paid time is kept to its end. */
export async function changeToFree(
  deps: ActionDeps,
  write: PartnerWrite,
): Promise<OutcomeOf<'changeSubscription'>> {
  const { nowMs } = write.request
  const action = SUBSCRIPTION_ACTION
  return await commitOwnWrite(deps, { ...write, action }, async (tx, partner) => {
    const subscription = switchToFree(partner.subscription, nowMs)
    const change = { ...noMoney, kind: 'free', tier: 'free' } as const
    const body = await recordChange(deps, tx, { ...partner, subscription }, { nowMs, change })
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
  return await commitOwnWrite(
    deps,
    { ...write, action: SUBSCRIPTION_ACTION },
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
      const body = await recordChange(
        deps,
        tx,
        { ...partner, subscription },
        {
          nowMs,
          change,
          priceMicroUsdc: offer.priceMicroUsdc,
          creditMicroUsdc: bought.valueMicroUsdc,
        },
      )
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
