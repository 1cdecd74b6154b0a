/**
 * A read that is sold: free for partners whose tier includes it, for its price to everybody else. The answer is made
 * before the payment is taken and sent after it has settled.
 */
import type { ActionDeps } from '../actions/deps.ts'
import { notCovered, receiverOf, unpaid } from '../actions/premium.ts'
import { purchase } from '../actions/purchase/purchase.ts'
import { bazaarExtension } from '../contract/bazaar.ts'
import { ApiError } from '../contract/errors.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Route } from '../contract/route.ts'
import { termsOf } from '../contract/x402.ts'
import type { PaymentOffer } from '../payments/challenge.ts'
import type { ReadAnswer, ReadContext } from './handler-types.ts'
import { showsCredentials } from './partner-auth.ts'
import { paymentHeaderOf } from './payment-header.ts'

/** A route of the registry that has a price. */
type SoldRoute = Route & { readonly price: string }

export function isSold(route: Route): route is SoldRoute {
  return route.price !== undefined
}

/**
 * Answers with what `produce` makes, for who may have it or pays for it.
 * @throws ApiError 402 with the terms, 401 and 403 for credentials that are no good, and what `purchase` throws.
 */
export async function sellRead(
  actions: ActionDeps,
  route: SoldRoute,
  context: ReadContext,
  produce: () => Promise<ReadAnswer>,
): Promise<ReadAnswer> {
  const { incoming, nowMs } = context
  const { payments } = actions
  const resource = `${actions.siteUrl}${incoming.url ?? ''}`
  const asked: PaymentOffer = {
    terms: termsOf(route, resource, receiverOf(payments)),
    extensions: { bazaar: bazaarExtension(route) },
  }
  const header = paymentHeaderOf(incoming)
  if (showsCredentials(incoming)) {
    const details = await whyNotCovered(actions, route, context, header)
    if (details === null) return await produce()
    if (header === null) throw unpaid(payments, asked, { code: 'tier_required', details })
  }
  if (header === null) throw unpaid(payments, asked, { code: 'payment_required' })
  if (incoming.method === 'HEAD') {
    const details = 'A payment is taken with GET; nothing was charged'
    throw unpaid(payments, asked, { code: 'payment_required', details })
  }
  const { value, headers } = await purchase(actions, {
    ...asked,
    header,
    purpose: 'read',
    nowMs,
    produce,
    isGone: () => incoming.socket.destroyed,
  })
  return { ...value, headers: { ...value.headers, ...headers } }
}

/** Null where the caller need not pay. Who pays need not be a partner, whatever wallet signed. */
async function whyNotCovered(
  actions: ActionDeps,
  route: SoldRoute,
  context: ReadContext,
  header: string | null,
): Promise<string | null> {
  const proof = await context.partner()
  try {
    return await notCovered(actions, proof, premiumOf(route), context.nowMs)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_a_partner' && header !== null) {
      return error.message
    }
    throw error
  }
}

function premiumOf({ path }: Route): `/${string}` {
  return `/${path.slice(apiPrefix.length + 1)}`
}
