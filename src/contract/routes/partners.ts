import { documents, pageQuery, privateHandler } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Parameter, Route } from '../route.ts'
import {
  attestationBody,
  oathHistory,
  oathList,
  ownPartner,
  partner,
  partnerChanges,
  partnerHandle,
  signupAnswer,
  signupBody,
  tierList,
} from '../schemas/partner.ts'

const handle: Parameter = {
  schema: partnerHandle,
  description: 'The handle that was chosen at signup.',
  example: 'acme-agents',
}

/** `me` and `tiers` stand before `{handle}`: the first that fits answers. */
export const partnerRoutes = [
  {
    id: 'listTiers',
    method: 'GET',
    path: `${apiPrefix}/partners/tiers`,
    tag: 'Partners',
    access: 'public',
    summary: 'Subscription tiers, their prices, limits and features',
    description:
      'Prices are in USDC a month. Calls that a wallet has signed are counted against the limit of that wallet, 300 a minute times the multiplier of its tier, and neither against the limits of the address they come from nor against the free daily allowance.',
    answers: { 200: json('The tiers.', tierList) },
    serving: documents(300),
  },
  {
    id: 'signupPartner',
    method: 'POST',
    path: `${apiPrefix}/partners/signup`,
    tag: 'Partners',
    access: 'partner',
    summary: 'Begin a subscription',
    description:
      'The wallet of the credentials signs the partner oath. The free tier is active at once; a paid one is `pending` until it is paid as `payment` says, for 14 days at most. One partner for each wallet.',
    body: signupBody,
    answers: {
      200: json('An exact repeat; the first answer.', signupAnswer),
      201: json('Signed up.', signupAnswer),
    },
    serving: privateHandler,
  },
  {
    id: 'getMyPartner',
    method: 'GET',
    path: `${apiPrefix}/partners/me`,
    tag: 'Partners',
    access: 'partner',
    summary: 'The own record, with subscription, limits and usage',
    description:
      'In any state of the subscription: `pending` until the first payment, `active`, `past_due` for 7 days after a period that was not renewed (reads go on, writes do not), then `cancelled`.',
    answers: { 200: json('The record of the wallet that signed.', ownPartner) },
    serving: privateHandler,
  },
  {
    id: 'updateMyPartner',
    method: 'PATCH',
    path: `${apiPrefix}/partners/me`,
    tag: 'Partners',
    access: 'partner',
    summary: 'Change what the own record says',
    description:
      'What is left out stays; null takes `website` or `bio_short` away. `require_body_signature` is set only by a request signed in the body-bound form; where it is true, every write of the wallet needs that form.',
    body: partnerChanges,
    answers: { 200: json('The record as it now is.', partner) },
    serving: privateHandler,
  },
  {
    id: 'getPartner',
    method: 'GET',
    path: `${apiPrefix}/partners/{handle}`,
    tag: 'Partners',
    access: 'public',
    summary: 'One partner',
    description: 'From the database at once. Never shows an e-mail address.',
    params: { handle },
    answers: { 200: json('The partner.', partner), 404: { description: 'No such partner.' } },
    serving: { kind: 'handler', cache: 'no-store' },
  },
  {
    id: 'listPartnerOaths',
    method: 'GET',
    path: `${apiPrefix}/partners/{handle}/oaths`,
    tag: 'Partners',
    access: 'public',
    summary: 'The history of oaths and writes of a partner',
    description: 'Newest first. Append-only: every oath and every write of a partner leaves a row.',
    params: { handle },
    query: pageQuery,
    answers: { 200: json('The rows.', oathHistory), 404: { description: 'No such partner.' } },
    serving: { kind: 'handler', cache: 'no-store' },
  },
  {
    id: 'updateAttestationEndpoint',
    method: 'PATCH',
    path: `${apiPrefix}/partners/{handle}/attestation-endpoint`,
    tag: 'Partners',
    access: 'signed',
    summary: 'Set the attestation endpoint of a partner',
    description:
      'The wallet signs `<service>-attestation-endpoint-v1:{TIMESTAMP}:{HANDLE}:{URL}` with `timestamp` and `url` as sent. Two wallets may: the one that is bound to the endpoint, which at first is the one that signed up; or, where none is bound, one of the oath history of the partner, which is bound by it. 409 where another change came first.',
    params: { handle },
    body: attestationBody,
    answers: {
      200: json('The partner with its new endpoint.', partner),
      404: { description: 'No such partner.' },
    },
    serving: privateHandler,
  },
  {
    id: 'listOaths',
    method: 'GET',
    path: `${apiPrefix}/oaths`,
    tag: 'Partners',
    access: 'public',
    summary: 'Texts of the oaths',
    description: 'The filled-in text is signed; see the signed writes that take an oath.',
    answers: { 200: json('The oaths.', oathList) },
    serving: documents(300),
  },
] as const satisfies readonly Route[]
