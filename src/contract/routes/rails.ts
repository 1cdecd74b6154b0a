import { created, pageQuery, sinceParameter, toBePaid } from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf, text as textAnswer } from '../route.ts'
import { application, applyBody } from '../schemas/application.ts'
import { arbitrage } from '../schemas/arbitrage.ts'
import { limitInput, railSlug, sha256Hex, text } from '../schemas/common.ts'
import { flagList } from '../schemas/flag.ts'
import { amountInput } from '../schemas/input.ts'
import { opportunityList } from '../schemas/opportunity.ts'
import {
  rail,
  railCategory,
  railChain,
  railHistory,
  railList,
  railStatus,
  statusRulesView,
} from '../schemas/rail.ts'

const { document, live, handler } = routesOf('Rails')

const csv = 'text/csv; charset=utf-8; header=present'

const params = { name: parameter(railSlug, 'The `rail` of a rail snapshot.', 'x402') }
const chain = parameter(railChain, 'Only rails on this chain.', 'base')
const noRail = notFound('unknown_rail')

export const railRoutes = {
  listRails: document(60, {
    path: `${apiPrefix}/rails`,
    summary: 'List rails with their latest figures',
    description:
      'An unknown figure is 0 and is listed in `unknown_figures`. If `poll_error` is present, the last poll failed and the figures date from `figures_as_of`. A query selects from the published document.',
    query: {
      status: parameter(
        railStatus,
        'Only rails with this status. Those with `judged: false` are among them: too little is known, or their audit is older than 90 days. `/opportunities` lists what pays now.',
        'paying',
      ),
      chain,
      category: parameter(railCategory, 'Only rails of this category.', 'earning'),
    },
    answers: { 200: json('All rails, by slug.', railList) },
  }),
  getRailsCsv: document(60, {
    path: `${apiPrefix}/rails.csv`,
    summary: 'List rails as CSV',
    description: 'RFC 4180 with a header row. An unknown figure is an empty cell.',
    answers: { 200: textAnswer('All rails.', csv) },
  }),
  getRail: document(60, {
    path: `${apiPrefix}/rails/{name}`,
    summary: 'Get a rail',
    description: 'The rail snapshot itself, without an envelope.',
    params,
    answers: { 200: json('The rail.', rail), 404: noRail },
  }),
  getRailHistory: document(60, {
    path: `${apiPrefix}/rails/{name}/history`,
    summary: 'List the polls of a rail',
    description:
      'Newest first, including failed polls. Null means that the figure was unknown. A query selects from the published document.',
    params,
    query: { ...pageQuery('polls'), since: sinceParameter('Only polls after this time.') },
    answers: { 200: json('The polls.', railHistory), 404: noRail },
  }),
  getRailHistoryCsv: document(60, {
    path: `${apiPrefix}/rails/{name}/history.csv`,
    summary: 'List the polls of a rail as CSV',
    description: 'The same rows as in JSON. An unknown figure is an empty cell.',
    params,
    answers: { 200: textAnswer('The polls.', csv), 404: noRail },
  }),
  getEvidence: live({
    path: '/evidence/{sha256}.json',
    summary: 'Get evidence of a poll',
    description:
      'The bundle of a poll, or a document that a bundle names. It never changes; /docs/evidence describes it.',
    params: { sha256: { schema: sha256Hex, description: 'SHA-256 of the document.' } },
    answers: {
      200: textAnswer('The document.', 'application/json'),
      404: { description: 'No such document. Rows are kept for 35 days.' },
    },
  }),
  getEvidenceProof: live({
    path: '/evidence/{sha256}.json.tlog-proof',
    summary: 'Get the proof that a poll is in the log',
    description: 'c2sp.org/tlog-proof of the entry `poll` of this bundle.',
    params: { sha256: { schema: sha256Hex, description: 'SHA-256 of the bundle.' } },
    answers: {
      200: textAnswer('The proof.', 'text/plain; charset=utf-8'),
      404: { description: 'No poll in the log has this bundle, at least not yet.' },
    },
  }),
  getStatusRules: document(300, {
    path: '/rules/status.json',
    summary: 'Get the rules behind the status of a rail',
    description:
      'The status rules in order, their thresholds, and the kinds of honesty flags. `status_reasons` of a rail names these rules.',
    answers: { 200: json('The rules.', statusRulesView) },
  }),
  listOpportunities: document(60, {
    path: `${apiPrefix}/opportunities`,
    summary: 'List rails that currently pay',
    description:
      'Rails with status `paying`, highest expected income first, each with its caveats. A query selects from the published document.',
    query: {
      skill: parameter(
        text(64),
        'Only rails that offer this skill, by its slug in `/skills`.',
        'translation',
      ),
      chain,
      max_entry_usdc: parameter(
        amountInput,
        'Only rails that cost at most this much to join.',
        '0',
      ),
      limit: parameter(limitInput, 'Number of rails, 1 to 200.', '5'),
    },
    answers: { 200: json('The paying rails.', opportunityList) },
  }),
  applyToRail: handler('POST', 'partner', {
    path: `${apiPrefix}/opportunities/apply`,
    summary: 'Apply to a rail through the ledger',
    description:
      'Forwards the application to the apply endpoint of the rail, as a fixed body with `worker_wallet`, `message` and the `fields` that the rail accepts; headers of the caller are not forwarded. For a rail without such an endpoint the answer has `mode: "manual"`, the reason, and the address at which to apply. The ledger makes one attempt with a timeout of 10 s and follows no redirects. A repeated request is never forwarded twice; it returns 409 while the first is in progress. At most 32 applications are forwarded at a time; beyond that the answer is 503 and nothing is sent. Each attempt is recorded with a hash of its text. Each partner may send at most 20 applications per hour.',
    body: applyBody,
    answers: created('Recorded, with the outcome.', application),
  }),
  getArbitrage: handler('GET', 'partner', {
    path: `${apiPrefix}/arbitrage`,
    price: '0.01',
    offer:
      'Ranks income channels for AI agents by the USD per day that one creator can expect, with entry cost, break-even days, confidence and caveats.',
    summary: 'Rank rails by expected USD per day and creator',
    description:
      'Covers the published rails of the category `earning`, with caveats for each figure. The tier Pro and higher tiers include this read.',
    answers: {
      200: json('The ranking.', arbitrage),
      402: toBePaid,
    },
  }),
}

const { document: honestyDocument } = routesOf('Honesty')

export const honestyRoutes = {
  listHonestyFlags: honestyDocument(60, {
    path: `${apiPrefix}/honesty/flags`,
    summary: 'List open honesty flags',
    description:
      'Each flag includes the numbers that triggered it. Most severe first, then newest first.',
    answers: { 200: json('The open flags.', flagList) },
  }),
}
