import { z } from 'zod'

import {
  pageQuery,
  repeated,
  signedMessages,
  sinceParameter,
  toBePaid,
  walletParameter,
} from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf } from '../route.ts'
import { claim, claimBody, codeSent } from '../schemas/claim.ts'
import { reputation } from '../schemas/reputation.ts'
import { skillSlug } from '../schemas/skill.ts'
import { leaderboard, registerBody, worker, workerList } from '../schemas/worker.ts'

const { document, live, handler } = routesOf('Workers')

export const workerRoutes = {
  getLeaderboard: document(60, {
    path: `${apiPrefix}/leaderboard`,
    summary: 'Rank wallets by verified reputation',
    description:
      'Includes the formula, so that anyone can recompute a score. `as_of` is the time to which the scores are scaled; it does not affect their order. A query selects a page of the published document.',
    query: pageQuery,
    answers: { 200: json('The leaderboard.', leaderboard) },
  }),
  listWorkers: document(60, {
    path: `${apiPrefix}/workers`,
    summary: 'List workers',
    description:
      'Newest first. Without a query: the document of the newest 50. With a query: a live answer.',
    query: {
      ...pageQuery,
      skill: parameter(skillSlug, 'Only workers with this skill.', 'api-reference-writing'),
      wallet: walletParameter(),
      since: sinceParameter('Only workers registered after this time.'),
    },
    answers: { 200: json('The workers.', workerList) },
  }),
  getWorker: live({
    path: `${apiPrefix}/workers/{wallet}`,
    summary: 'Get a worker',
    description: 'Live.',
    params: { wallet: walletParameter() },
    answers: { 200: json('The worker.', worker), 404: notFound('unknown_worker') },
  }),
  registerWorker: handler('POST', 'signed', {
    path: `${apiPrefix}/workers/register`,
    summary: 'Register a wallet and its skills',
    description: `The wallet signs \`${signedMessages.register}\`. Registering again replaces the previous registration. Signing the worker oath is optional.`,
    signs: signedMessages.register,
    body: registerBody,
    answers: {
      200: json('The existing registration was replaced.', worker),
      201: json('Registered.', worker),
    },
  }),
  claimSpot: handler('POST', 'signed', {
    path: `${apiPrefix}/claim`,
    summary: 'Claim a spot on the leaderboard',
    description: `By wallet: the wallet signs \`${signedMessages.claim}\` and the claim oath. By e-mail, in two steps: \`{email, display_name, wallet?}\` sends a code of 8 letters and digits, valid for 15 minutes; \`{email, code}\` claims the spot with the name and wallet of the request that sent the code, which the e-mail states. An address with an existing claim gets the same answer and is notified by e-mail. An e-mail proves control of a mailbox but nothing about a wallet, so the e-mail claim of a wallet that is registered, has receipts or is claimed with its key is refused with \`wallet_needs_key\`. The e-mail claim of another wallet is published as \`claimed: false, claim: "email"\` without its name, until the wallet signs a claim. A claim by wallet may contain an \`email\`; it then takes effect with the code.`,
    signs: signedMessages.claim,
    body: claimBody,
    answers: {
      200: repeated(z.union([claim, codeSent])),
      201: json('Claimed.', claim),
      202: json('A code was sent.', codeSent),
    },
  }),
  getReputation: handler('GET', 'partner', {
    path: `${apiPrefix}/reputation/{wallet}`,
    price: '0.005',
    summary: 'Get the reputation score and entries of a wallet',
    description:
      'The current score and the newest 50 entries. Use `cursor` to read older entries and recompute the score from all of them.',
    params: { wallet: walletParameter() },
    query: pageQuery,
    answers: {
      200: json('Score and entries.', reputation),
      402: toBePaid,
      404: { description: 'Not a wallet address.' },
    },
  }),
}
