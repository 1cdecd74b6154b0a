import { cancelSubscription, switchToFree } from '../../core/partner.ts'
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

/** Paid time remains usable until its end. */
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

const noMoney = {
  paid_usdc: 0,
  from: null,
  until: null,
  payer: null,
  tx_hash: null,
} as const
