import { z } from 'zod'

import { incomeStatement, statementMonth } from '../../core/statement.ts'
import {
  pageQuery,
  repeated,
  signedMessages,
  sinceParameter,
  toBePaid,
  walletParameter,
} from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf, text } from '../route.ts'
import { claim, claimBody, codeSent } from '../schemas/claim.ts'
import { reputation } from '../schemas/reputation.ts'
import { skillSlug } from '../schemas/skill.ts'
import { statementList } from '../schemas/statement.ts'
import { leaderboard, registerBody, worker, workerList } from '../schemas/worker.ts'

const { document, live, handler } = routesOf('Workers')

const month = parameter(statementMonth, 'The month, in UTC.', '2026-10')
const notWallet = { description: 'Not a wallet address.' }
const noStatement = notFound(
  'not_found',
  'The month has no statement: it is not closed, or no receipt counts in it.',
)

export const workerRoutes = {
  getLeaderboard: document(60, {
    path: `${apiPrefix}/leaderboard`,
    summary: 'Rank wallets by verified reputation',
    description:
      'Includes the formula, so that anyone can recompute a score. `as_of` is the time to which the scores are scaled; it does not affect their order. A query selects a page of the published document.',
    query: pageQuery('leaderboard'),
    answers: { 200: json('The leaderboard.', leaderboard) },
  }),
  listWorkers: document(60, {
    path: `${apiPrefix}/workers`,
    summary: 'List workers',
    description:
      'Newest first. Without a query: the document of the newest 50. With a query: a live answer.',
    query: {
      ...pageQuery('workers'),
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
  listStatements: live({
    path: `${apiPrefix}/workers/{wallet}/statements`,
    summary: 'List the income statements of a worker',
    description:
      'Oldest first. `open_months` have receipts but no statement yet: a month is closed at `closes_at_earliest` or later, when no check of its receipts is still to come (/docs/statements#closing).',
    params: { wallet: walletParameter() },
    answers: { 200: json('The statements.', statementList), 404: notWallet },
  }),
  // Before the route that also matches its path.
  getStatementCsv: live({
    path: `${apiPrefix}/workers/{wallet}/statements/{month}.csv`,
    summary: 'Get an income statement as CSV',
    description:
      'One line for each receipt and each correction, which has its change in `counted_usdc`. The sum of `counted_usdc` is the total with corrections.',
    params: { wallet: walletParameter(), month },
    answers: { 200: text('The statement.', 'text/csv; charset=utf-8'), 404: noStatement },
  }),
  getStatement: live({
    path: `${apiPrefix}/workers/{wallet}/statements/{month}`,
    summary: 'Get the income statement of a worker for a month',
    description:
      'Never changes: later reversals and disputes are `corrections` of the next statement. Its bytes are canonical JSON; their SHA-256 is in the log and in the next statement. /docs/statements describes the totals and the Merkle root.',
    params: { wallet: walletParameter(), month },
    answers: { 200: json('The statement.', incomeStatement), 404: noStatement },
  }),
  getStatementProof: live({
    path: `${apiPrefix}/workers/{wallet}/statements/{month}/proof`,
    summary: 'Get the proof that an income statement is in the log',
    description:
      'c2sp.org/tlog-proof, as for receipts. Verify it with `agent-income-ledger statement verify --log`.',
    params: { wallet: walletParameter(), month },
    answers: { 200: text('The proof.', 'text/plain; charset=utf-8'), 404: noStatement },
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
    description: `By wallet: the wallet signs \`${signedMessages.claim}\` and the claim oath. By e-mail, in two steps: \`{email, display_name, wallet?}\` sends a code of 8 letters and digits, valid for 15 minutes; \`{email, code}\` claims the spot with the name and wallet of the request that sent the code, which the e-mail states. An address with an existing claim gets the same answer and is notified by e-mail. An e-mail proves control of a mailbox but nothing about a wallet, so the e-mail claim of a wallet that is registered, has receipts or is claimed with its key is refused with \`wallet_needs_key\`. The e-mail claim of another wallet is published as \`claimed: false, claim: "email"\` without its name, until the wallet signs a claim. A claim by wallet may contain an \`email\`; it then takes effect with the code. The name and the claim appear on the leaderboard once the wallet has points.`,
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
    offer: 'Reputation score of the wallet of an AI agent, with the verified payments behind it.',
    summary: 'Get the reputation score and entries of a wallet',
    description:
      'The current score and the newest 50 entries. Use `cursor` to read older entries and recompute the score from all of them.',
    params: { wallet: walletParameter() },
    query: pageQuery('reputation'),
    answers: {
      200: json('Score and entries.', reputation),
      402: toBePaid,
      404: notWallet,
    },
  }),
}
