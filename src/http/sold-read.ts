/** Paid reads, free for partners whose tier includes them. The response is produced before the payment and sent after it. */
import type { IncomingMessage } from 'node:http'

import type { ActionDeps } from '../actions/deps.ts'
import type { PremiumRead } from '../actions/partner-access.ts'
import { notCovered, receiverOf, unpaid } from '../actions/premium.ts'
import { purchase } from '../actions/purchase/purchase.ts'
import { bazaarOf } from '../contract/bazaar.ts'
import { ApiError } from '../contract/errors.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Route } from '../contract/route.ts'
import { identifierExtension, termsOf } from '../contract/x402.ts'
import type { PaymentOffer } from '../payments/challenge.ts'
import type { ReadAnswer, ReadContext } from './handler-types.ts'
import { hasCredentials } from './partner-auth.ts'
import { hasPayment, payerSignatureOf, paymentHeaderOf } from './single-headers.ts'

type SoldRoute = Route & { readonly price: string }

export function isSold(route: Route): route is SoldRoute {
  return route.price !== undefined
}

/** @throws ApiError 402 for a request that cannot be served, whatever it asks for: catalogues send any parameters */
export function requireCredentialsOrPayment(
  actions: ActionDeps,
  route: SoldRoute,
  incoming: IncomingMessage,
): void {
  if (hasCredentials(incoming) || hasPayment(incoming)) return
  const offer = offerOf(actions, route, incoming)
  throw unpaid(actions, premiumOf(route), offer, { code: 'payment_required' })
}

/** @throws ApiError 402 with the terms, 401 and 403 for invalid credentials, and the errors of `purchase` */
export async function sellRead(
  actions: ActionDeps,
  route: SoldRoute,
  context: ReadContext,
  produce: () => Promise<ReadAnswer>,
): Promise<ReadAnswer> {
  const { incoming, nowMs } = context
  const premium = premiumOf(route)
  const offer = offerOf(actions, route, incoming)
  const header = paymentHeaderOf(incoming)
  if (hasCredentials(incoming)) {
    const details = await uncoveredReason(actions, premium, context, header)
    if (details === null) return await produce()
    if (header === null) throw unpaid(actions, premium, offer, { code: 'tier_required', details })
  }
  if (header === null) throw unpaid(actions, premium, offer, { code: 'payment_required' })
  if (incoming.method === 'HEAD') {
    const details = 'Send payments with GET; nothing was charged'
    throw unpaid(actions, premium, offer, { code: 'payment_required', details })
  }
  const { value, headers } = await purchase(actions, {
    ...offer,
    header,
    payerSignature: payerSignatureOf(incoming),
    purpose: 'read',
    nowMs,
    chargeOutbound: context.admission.chargeOutbound,
    produce,
    isGone: () => incoming.socket.destroyed,
  })
  return { ...value, headers: { ...value.headers, ...headers } }
}

function premiumOf({ path }: Route): PremiumRead {
  return `/${path.slice(apiPrefix.length + 1)}`
}

function offerOf(
  { site, payments }: ActionDeps,
  route: SoldRoute,
  { url = '' }: IncomingMessage,
): PaymentOffer {
  const { outline, complete } = bazaarOf(route)
  return {
    terms: termsOf(route, `${site.url}${url}`, receiverOf(payments)),
    extensions: { bazaar: outline, ...identifierExtension },
    catalogued: { bazaar: complete },
  }
}

/** Returns null if the tier covers the read. Requests with a payment need not come from a partner. */
async function uncoveredReason(
  actions: ActionDeps,
  premium: PremiumRead,
  context: ReadContext,
  header: string | null,
): Promise<string | null> {
  const proof = await context.partner()
  try {
    return await notCovered(actions, proof, premium, context.nowMs)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_a_partner' && header !== null) {
      return error.message
    }
    throw error
  }
}
