import { documents, pageQuery, privateHandler, toBePaid } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Parameter, Route } from '../route.ts'
import { claim, claimBody, codeSent } from '../schemas/claim.ts'
import { timeInput, walletInput } from '../schemas/input.ts'
import { reputation } from '../schemas/reputation.ts'
import { skillSlug } from '../schemas/skill.ts'
import { leaderboard, registerBody, worker, workerList } from '../schemas/worker.ts'

const walletParameter = {
  schema: walletInput,
  description: 'A wallet, in any accepted spelling.',
  example: '0x52908400098527886E0F7030069857D2E4169EE7',
} as const satisfies Parameter

/** Who works, who claimed a spot, and what it comes to. */
export const workerRoutes = [
  {
    id: 'getLeaderboard',
    method: 'GET',
    path: `${apiPrefix}/leaderboard`,
    tag: 'Workers',
    access: 'public',
    summary: 'Wallets by verified reputation',
    description:
      'The formula is part of the answer, so that anyone can recompute a score. `as_of` is the time to which the scores are scaled; their order does not depend on it.',
    answers: { 200: json('The leaderboard.', leaderboard) },
    serving: documents(60),
  },
  {
    id: 'listWorkers',
    method: 'GET',
    path: `${apiPrefix}/workers`,
    tag: 'Workers',
    access: 'public',
    summary: 'Registered workers',
    description:
      'Newest first. Without a query this is the signed document of the first 50; with one it is made for the request.',
    query: {
      ...pageQuery,
      skill: {
        schema: skillSlug,
        description: 'Only workers with this skill.',
        example: 'api-reference-writing',
      },
      wallet: walletParameter,
      since: {
        schema: timeInput,
        description: 'Only workers registered after this time.',
        example: '2026-11-20T00:00:00Z',
      },
    },
    answers: { 200: json('The workers.', workerList) },
    serving: documents(60),
  },
  {
    id: 'getWorker',
    method: 'GET',
    path: `${apiPrefix}/workers/{wallet}`,
    tag: 'Workers',
    access: 'public',
    summary: 'One worker',
    description: 'From the database at once.',
    params: { wallet: walletParameter },
    answers: { 200: json('The worker.', worker), 404: { description: 'No such worker.' } },
    serving: { kind: 'handler', cache: 'no-store' },
  },
  {
    id: 'registerWorker',
    method: 'POST',
    path: `${apiPrefix}/workers/register`,
    tag: 'Workers',
    access: 'signed',
    summary: 'Register a wallet and its skills',
    description:
      'The wallet signs `<service>-register-v1:{WALLET}:{TIMESTAMP}:{BODY_SHA256}`. Registering again replaces what was said before. The worker oath may be signed as well.',
    body: registerBody,
    answers: {
      200: json('Registered before; now as sent.', worker),
      201: json('Registered.', worker),
    },
    serving: privateHandler,
  },
  {
    id: 'claimSpot',
    method: 'POST',
    path: `${apiPrefix}/claim`,
    tag: 'Workers',
    access: 'signed',
    summary: 'Claim a spot on the leaderboard',
    description:
      'By wallet: it signs `<service>-claim-v1:{WALLET}:{TIMESTAMP}:{BODY_SHA256}` and the claim oath. By e-mail in two steps: `{email, display_name, wallet?}` sends a code of six digits that holds for 15 minutes and 5 tries (an address that has its claim is answered the same and told by e-mail), `{email, code}` makes the claim. A spot claimed by e-mail goes to the wallet that signs for it.',
    body: claimBody,
    answers: {
      200: json('An exact repeat; the first answer.', claim),
      201: json('Claimed.', claim),
      202: json('A code was sent.', codeSent),
    },
    serving: privateHandler,
  },
  {
    id: 'getReputation',
    method: 'GET',
    path: `${apiPrefix}/reputation/{wallet}`,
    tag: 'Workers',
    access: 'partner',
    price: '0.005',
    summary: 'Score and ledger of a wallet',
    description:
      'The score now, and the last 50 entries that make it. With `cursor` the entries before them, so that the score can be recomputed from all.',
    params: { wallet: walletParameter },
    query: pageQuery,
    answers: {
      200: {
        ...json('Score and entries.', reputation),
        example: {
          wallet: '0x52908400098527886E0F7030069857D2E4169EE7',
          rep_score: 12.5,
          rank: 1,
          receipts_count: 1,
          total_usdc_lifetime: 12.5,
          first_receipt_at: '2026-11-21T06:00:00.000Z',
          last_receipt_at: '2026-11-21T06:00:00.000Z',
          entries_total: 1,
          entries: [],
          formula: 'sum of amount_usdc * weight * exp(-age_days / 60)',
          computed_at: '2026-11-21T06:00:00.000Z',
        },
      },
      402: toBePaid,
      404: { description: 'The address is that of no wallet.' },
    },
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
