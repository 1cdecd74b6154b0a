import { ApiError } from '../../contract/errors.ts'
import type { OwnSubscription } from '../../contract/schemas/partner.ts'
import { toUsdc } from '../../core/money.ts'
import { cancelSubscription, switchToFree } from '../../core/partner.ts'
import { afterPurchase, quoteOf } from '../../core/subscription-price.ts'
import type { Offer } from '../../core/subscription-price.ts'
import { isoTime } from '../../core/time.ts'
import { appendSubscriptionChange, setSubscription } from '../../db/partners/subscription.ts'
import type { NewSubscriptionChange } from '../../db/partners/subscription.ts'
import type { ActionDeps } from '../deps.ts'
import type { OutcomeOf } from '../idempotency.ts'
import { partnerAt } from '../partner-access.ts'
import type { CurrentPartner } from '../partner-access.ts'
import { commitOwnWrite } from '../partner-write.ts'
import type { PartnerWrite } from '../partner-write.ts'
import { SUBSCRIPTION_ACTION } from './effect.ts'
import { subscriptionView } from './view.ts'

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
    return await recordChange(deps, tx, { ...partner, subscription }, { nowMs, change })
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
    return await recordChange(deps, tx, { ...partner, subscription }, { nowMs, change })
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
      return await recordChange(
        deps,
        tx,
        { ...partner, subscription },
        {
          nowMs,
          change: {
            ...noMoney,
            kind: 'credited',
            tier: offer.tier,
            credit_usdc: toUsdc(bought.valueMicroUsdc),
            from: isoTime(bought.fromMs),
            until: isoTime(bought.untilMs),
          },
          priceMicroUsdc: offer.priceMicroUsdc,
          creditMicroUsdc: bought.valueMicroUsdc,
        },
      )
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

async function recordChange(
  deps: ActionDeps,
  tx: Parameters<typeof setSubscription>[0],
  partner: CurrentPartner,
  done: {
    readonly nowMs: number
    readonly change: OwnSubscription['change']
    readonly priceMicroUsdc?: number
    readonly creditMicroUsdc?: number
  },
): Promise<OutcomeOf<'changeSubscription'>> {
  const { nowMs, change, priceMicroUsdc = 0, creditMicroUsdc = 0 } = done
  const { handle, subscription } = partner
  const now = isoTime(nowMs)
  await setSubscription(tx, handle, subscription, now)
  const answer = subscriptionView(deps.reference(), partnerAt(partner, nowMs), change, nowMs)
  const { kind, tier, from, until } = change
  const row: NewSubscriptionChange = {
    handle,
    kind,
    paymentId: null,
    tier,
    priceMicroUsdc,
    paidMicroUsdc: 0,
    creditMicroUsdc,
    fromAt: from,
    untilAt: until,
    answer,
    createdAt: now,
  }
  await appendSubscriptionChange(tx, row)
  return { status: 200, body: answer }
}
