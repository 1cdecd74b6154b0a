import { created, pageQuery, signedMessages, toBePaid } from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf } from '../route.ts'
import {
  attestationBody,
  oathHistory,
  oathList,
  ownPartner,
  ownSubscription,
  partner,
  partnerChanges,
  partnerHandle,
  partnerList,
  partnerWalletBody,
  signupAnswer,
  signupBody,
  subscriptionBody,
  tierList,
} from '../schemas/partner.ts'

const { document, live, handler } = routesOf('Partners')

const handle = parameter(partnerHandle, 'The handle chosen at signup.', 'acme-agents')

/** `me` and `tiers` come before `{handle}`: the first match answers. */
export const partnerRoutes = {
  listPartners: document(60, {
    path: `${apiPrefix}/partners`,
    summary: 'List partners',
    description:
      'Newest first. Without a query: the document of the newest 50. With a query: a live answer.',
    query: pageQuery('partners'),
    answers: { 200: json('The partners.', partnerList) },
  }),
  listTiers: document(300, {
    path: `${apiPrefix}/partners/tiers`,
    summary: 'List subscription tiers with prices, limits and features',
    description:
      'Prices are in USDC per month. Signed calls count only against the limit of their wallet (300 per minute times the multiplier of its tier), not against the limits of the IP address or the free daily allowance.',
    answers: { 200: json('The tiers.', tierList) },
  }),
  signupPartner: handler('POST', 'partner', {
    path: `${apiPrefix}/partners/signup`,
    summary: 'Sign up as a partner',
    description:
      'The wallet of the credentials signs the partner oath. The free tier is active at once; a paid tier is `pending` for up to 14 days until it is paid as described in `payment`. One partner per wallet.',
    body: signupBody,
    answers: created('Signed up.', signupAnswer),
  }),
  getMyPartner: handler('GET', 'partner', {
    path: `${apiPrefix}/partners/me`,
    summary: 'Get your partner record with subscription, limits and usage',
    description:
      'Available in every state of the subscription: `pending` until the first payment, `active`, `past_due` for 7 days after a period that was not renewed (reads work, writes are refused), then `cancelled`.',
    answers: { 200: json('The record of the signing wallet.', ownPartner) },
  }),
  updateMyPartner: handler('PATCH', 'partner', {
    path: `${apiPrefix}/partners/me`,
    summary: 'Update your partner record',
    description:
      'Omitted fields keep their values; null removes `website` or `bio_short`. `require_body_signature` can be set only by a request with a body-bound signature; while it is true, every write of the wallet needs one.',
    body: partnerChanges,
    answers: { 200: json('The updated record.', partner) },
  }),
  changeSubscription: handler('POST', 'partner', {
    path: `${apiPrefix}/partners/subscription`,
    priceRange: { min: '0.000001', max: '999' },
    summary: 'Pay for, renew or change your tier',
    description: [
      'For a paid tier the answer is 402 with the price of 30 days, in both versions of x402. Repeat the request with the payment to start the period. Any wallet may pay; the credentials identify the subscription. A wallet other than the one that signs the request names the partner by its signature in `X-Payer-Signature`; otherwise the answer is 409 `payment_buyer_unproven` and nobody is charged.',
      'The same tier continues where its paid time ends, even if you pay up to 7 days later. Another tier starts at once, and the rest of the paid time extends it in proportion to the prices: ten days of a 99 USDC tier become about 34 days of a 29 USDC tier.',
      '`free` costs nothing and starts when the paid time ends. Two payments buy 60 days. Repeating a payment returns the first answer.',
    ].join(' '),
    body: subscriptionBody,
    answers: { 200: json('The updated subscription.', ownSubscription), 402: toBePaid },
  }),
  cancelSubscription: handler('DELETE', 'partner', {
    path: `${apiPrefix}/partners/subscription`,
    summary: 'Cancel your subscription',
    description:
      'Paid time remains usable until its end, without a grace period. Without paid time the subscription ends at once. There are no automatic charges, so an unpaid subscription ends by itself. Paying again, or changing to `free`, restores it under the same handle.',
    answers: { 200: json('The updated subscription.', ownSubscription) },
  }),
  getPartner: live({
    path: `${apiPrefix}/partners/{handle}`,
    summary: 'Get a partner',
    description: 'Live data, without the e-mail address.',
    params: { handle },
    answers: { 200: json('The partner.', partner), 404: notFound('unknown_partner') },
  }),
  listPartnerOaths: live({
    path: `${apiPrefix}/partners/{handle}/oaths`,
    summary: 'List oaths and writes of a partner',
    description: 'Newest first. Append-only, one row for each oath and each signature of a write.',
    params: { handle },
    query: pageQuery('oaths'),
    answers: { 200: json('The rows.', oathHistory), 404: notFound('unknown_partner') },
  }),
  updateAttestationEndpoint: handler('PATCH', 'signed', {
    path: `${apiPrefix}/partners/{handle}/attestation-endpoint`,
    summary: 'Set the attestation endpoint of a partner',
    description: `The wallet signs \`${signedMessages.attestationEndpoint}\`, with \`timestamp\` and \`url\` exactly as sent. Only the wallet bound to the endpoint may sign, initially the one that signed up. If no wallet is bound, any wallet of the oath history of the partner may sign and is then bound. Returns 409 if another change came first.`,
    params: { handle },
    signs: signedMessages.attestationEndpoint,
    body: attestationBody,
    answers: {
      200: json('The partner with the new endpoint.', partner),
      404: notFound('unknown_partner'),
    },
  }),
  changePartnerWallet: handler('PATCH', 'partner', {
    path: `${apiPrefix}/partners/{handle}/wallet`,
    summary: 'Move a partner to another wallet',
    description: `The credentials are those of the old wallet; the new one signs \`${signedMessages.partnerWallet}\`, with \`timestamp\` and \`wallet\` exactly as sent and the old wallet as in the credentials. The subscription, alerts, the attestation endpoint and the limits follow the partner. Reputation, receipts and finished jobs remain with the old wallet; the request is refused with 409 while it has posted or works on a job that is not finished, and its open bids lapse. A disputed job can no longer be accepted after the move.`,
    params: { handle },
    signs: signedMessages.partnerWallet,
    body: partnerWalletBody,
    answers: {
      200: json('The partner with the new wallet.', partner),
      404: notFound('unknown_partner'),
    },
  }),
  listOaths: document(300, {
    path: `${apiPrefix}/oaths`,
    summary: 'List the oath texts',
    description:
      'Fill in the placeholders and sign the text. The description of a signed write states which oath it requires.',
    answers: { 200: json('The oaths.', oathList) },
  }),
}
