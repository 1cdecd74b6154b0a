import { z } from 'zod'

import { documents } from './answers.ts'
import { apiPrefix, healthPath, json, text } from './route.ts'
import type { Parameter, Route } from './route.ts'
import { alertRoutes } from './routes/alerts.ts'
import { feedbackRoutes } from './routes/feedback.ts'
import { imageRoutes } from './routes/images.ts'
import { jobRoutes } from './routes/jobs.ts'
import { marketRoutes } from './routes/market.ts'
import { pactManifestRoutes } from './routes/pacts.ts'
import { partnerRoutes } from './routes/partners.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { workerRoutes } from './routes/workers.ts'
import { railSlug, time } from './schemas/common.ts'
import { deskFeed, deskSlug } from './schemas/desk.ts'
import { flagList } from './schemas/flag.ts'
import { opportunityList } from './schemas/opportunity.ts'
import { inFlightPact, pactId, pactList, recordedPact, settledPact } from './schemas/pact.ts'
import { rail, railHistory, railList } from './schemas/rail.ts'
import { health, signingKeys, snapshotManifest } from './schemas/service.ts'
import { skill, skillSlug, taxonomy } from './schemas/skill.ts'
import { stats, statsLive } from './schemas/stats.ts'
import { x402Discovery } from './schemas/x402.ts'

const csv = 'text/csv; charset=utf-8; header=present'
const markdown = 'text/markdown; charset=utf-8'

const railName: Parameter = {
  schema: railSlug,
  description: 'The `rail` value of a rail snapshot.',
  example: 'x402',
}

/**
 * Every route of the service, in the order of the documentation. Routes, the OpenAPI document, the docs and the
 * client types are made from this list; a route stands here only when it works.
 */
export const routes = [
  {
    id: 'getHealth',
    method: 'GET',
    path: healthPath,
    tag: 'Service',
    access: 'public',
    summary: 'State of the service and of its cron jobs',
    description:
      'Answers 503 when the database cannot be written. `jobs` holds the last run and outcome of each cron job.',
    answers: {
      200: json('The service can accept writes.', health),
      503: json('The database cannot be written; documents are still served.', health),
    },
    serving: { kind: 'handler', cache: 'no-store' },
  },
  {
    id: 'getStatsLive',
    method: 'GET',
    path: `${apiPrefix}/stats/live`,
    tag: 'Stats',
    access: 'public',
    summary: 'The aggregate of the ledger',
    description:
      'With `since` the answer has a `delta_since` block: what was created after that time, at most 200 entries of each kind.',
    query: {
      since: {
        schema: time,
        description: 'RFC 3339 time; changes after it are listed.',
        example: '2026-11-20T00:00:00Z',
      },
    },
    answers: { 200: json('The aggregate.', statsLive) },
    serving: documents(5),
  },
  {
    id: 'getStatsDaily',
    method: 'GET',
    path: `${apiPrefix}/stats/daily`,
    tag: 'Stats',
    access: 'public',
    summary: 'The daily roll-up',
    description: 'Currently the same figures as `/stats/live`.',
    answers: { 200: json('The roll-up.', stats) },
    serving: documents(300),
  },
  {
    id: 'listRails',
    method: 'GET',
    path: `${apiPrefix}/rails`,
    tag: 'Rails',
    access: 'public',
    summary: 'All rails with their latest figures',
    description:
      'A figure that nobody could read stands as 0 and is named in `unknown_figures`. `poll_error` says that the last poll failed and the figures are carried over from `figures_as_of`.',
    answers: { 200: json('All rails, by slug.', railList) },
    serving: documents(60),
  },
  {
    id: 'getRailsCsv',
    method: 'GET',
    path: `${apiPrefix}/rails.csv`,
    tag: 'Rails',
    access: 'public',
    summary: 'All rails as CSV',
    description: 'RFC 4180 with a header row. An unknown figure is an empty cell.',
    answers: { 200: text('All rails.', csv) },
    serving: documents(60),
  },
  {
    id: 'getRail',
    method: 'GET',
    path: `${apiPrefix}/rails/{name}`,
    tag: 'Rails',
    access: 'public',
    summary: 'One rail',
    description: 'The rail snapshot itself, without an envelope.',
    params: { name: railName },
    answers: { 200: json('The rail.', rail), 404: { description: 'No such rail.' } },
    serving: documents(60),
  },
  {
    id: 'getRailHistory',
    method: 'GET',
    path: `${apiPrefix}/rails/{name}/history`,
    tag: 'Rails',
    access: 'public',
    summary: 'Every poll of one rail',
    description: 'Newest first, failed polls included. Null means that the figure was unknown.',
    params: { name: railName },
    answers: { 200: json('The polls.', railHistory), 404: { description: 'No such rail.' } },
    serving: documents(60),
  },
  {
    id: 'getRailHistoryCsv',
    method: 'GET',
    path: `${apiPrefix}/rails/{name}/history.csv`,
    tag: 'Rails',
    access: 'public',
    summary: 'Every poll of one rail as CSV',
    description: 'The same rows as the JSON form. An unknown figure is an empty cell.',
    params: { name: railName },
    answers: { 200: text('The polls.', csv), 404: { description: 'No such rail.' } },
    serving: documents(60),
  },
  {
    id: 'listOpportunities',
    method: 'GET',
    path: `${apiPrefix}/opportunities`,
    tag: 'Rails',
    access: 'public',
    summary: 'Rails that pay now',
    description:
      'Rails with status `paying`, the best expected income first, each with its caveats.',
    answers: { 200: json('The rails paying now.', opportunityList) },
    serving: documents(60),
  },
  ...marketRoutes,
  ...alertRoutes,
  ...feedbackRoutes,
  ...workerRoutes,
  ...receiptRoutes,
  ...jobRoutes,
  ...partnerRoutes,
  ...imageRoutes,
  {
    id: 'listSkills',
    method: 'GET',
    path: `${apiPrefix}/skills`,
    tag: 'Skills',
    access: 'public',
    summary: 'The skills taxonomy',
    description: 'Twelve categories; `surface` names the rails on which a skill is sold.',
    answers: { 200: json('The taxonomy.', taxonomy) },
    serving: documents(300),
  },
  {
    id: 'getSkill',
    method: 'GET',
    path: `${apiPrefix}/skills/{slug}`,
    tag: 'Skills',
    access: 'public',
    summary: 'One skill',
    description: 'The skill itself, without an envelope.',
    params: {
      slug: {
        schema: skillSlug,
        description: 'The slug of a skill.',
        example: 'api-reference-writing',
      },
    },
    answers: { 200: json('The skill.', skill), 404: { description: 'No such skill.' } },
    serving: documents(300),
  },
  {
    id: 'listPacts',
    method: 'GET',
    path: `${apiPrefix}/pacts`,
    tag: 'Pacts',
    access: 'public',
    summary: 'Settled and in-flight settlements',
    description:
      'Each settled pact once, with its explorer address and verified receipt. `recorded` holds what others published about pacts, with its source and whether a node bears it out; none of it counts as settled here.',
    answers: { 200: json('The pacts.', pactList) },
    serving: documents(60),
  },
  {
    id: 'getPact',
    method: 'GET',
    path: `${apiPrefix}/pacts/{id}`,
    tag: 'Pacts',
    access: 'public',
    summary: 'One pact',
    description:
      'Settled, in flight or only recorded, told apart by `state`. Only a settled one shows a payment.',
    params: { id: { schema: pactId, description: 'The `pact_id`.', example: '12' } },
    answers: {
      200: json(
        'The pact.',
        z.discriminatedUnion('state', [settledPact, inFlightPact, recordedPact]),
      ),
      404: { description: 'In none of the three groups.' },
    },
    serving: documents(60),
  },
  ...pactManifestRoutes,
  {
    id: 'listHonestyFlags',
    method: 'GET',
    path: `${apiPrefix}/honesty/flags`,
    tag: 'Honesty',
    access: 'public',
    summary: 'Open honesty flags',
    description: 'Each with the numbers that tripped it, the most severe first, then the newest.',
    answers: { 200: json('The open flags.', flagList) },
    serving: documents(60),
  },
  {
    id: 'getDeskFeed',
    method: 'GET',
    path: `${apiPrefix}/desk/feed.json`,
    tag: 'Desk',
    access: 'public',
    summary: 'The articles of the desk',
    description: 'Articles above the median of views_24h first, then newest date first.',
    answers: { 200: json('The feed.', deskFeed) },
    serving: documents(300),
  },
  {
    id: 'getDeskArticle',
    method: 'GET',
    path: '/desk/{slug}.md',
    tag: 'Desk',
    access: 'public',
    summary: 'One article as Markdown',
    description: 'Views of this document are counted by the hour, without cookies.',
    params: {
      slug: {
        schema: deskSlug,
        description: 'The slug of an article.',
        example: 'five-statuses',
      },
    },
    answers: { 200: text('The article.', markdown), 404: { description: 'No such article.' } },
    serving: documents(300),
  },
  {
    id: 'getDeskChart',
    method: 'GET',
    path: '/desk/{name}.svg',
    tag: 'Desk',
    access: 'public',
    summary: 'One chart of an article',
    description: 'A picture that an article refers to, with its numbers in `desc`.',
    params: {
      name: {
        schema: deskSlug,
        description: 'The name of a chart; the weekly article has one under its own slug.',
        example: 'ledger-week-2026-w47',
      },
    },
    answers: {
      200: text('The chart.', 'image/svg+xml'),
      404: { description: 'No such chart.' },
    },
    serving: documents(300),
  },
  {
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'Service',
    access: 'public',
    summary: 'This description',
    description: 'OpenAPI 3.0.3.',
    answers: { 200: json('The OpenAPI document.', z.looseObject({ openapi: z.string() })) },
    serving: documents(300),
  },
  {
    id: 'getSigningKeys',
    method: 'GET',
    path: '/.well-known/signing-keys.json',
    tag: 'Service',
    access: 'public',
    summary: 'Public keys of the service',
    description:
      'Ed25519 keys by `kid`. `X-Signature-Key` of a document names the key, `X-Signature` holds the signature over the bytes of the body.',
    answers: { 200: json('The keys.', signingKeys) },
    serving: documents(3600),
  },
  {
    id: 'getX402Discovery',
    method: 'GET',
    path: '/.well-known/x402',
    tag: 'Service',
    access: 'public',
    summary: 'What is sold per request, and how it is paid',
    description:
      'Prices, covering tiers and, where payment is available here, what both versions of x402 accept. `payable` says whether anything can be paid for now.',
    answers: { 200: json('The offers.', x402Discovery) },
    serving: documents(300),
  },
  {
    id: 'getSnapshotManifest',
    method: 'GET',
    path: '/snapshot.json',
    tag: 'Service',
    access: 'public',
    summary: 'The signed manifest',
    description: 'Every published document with its SHA-256, size, time and signature.',
    answers: { 200: json('The manifest.', snapshotManifest) },
    serving: documents(60),
  },
  {
    id: 'getLatestDiff',
    method: 'GET',
    path: '/diffs/latest.md',
    tag: 'Service',
    access: 'public',
    summary: 'What the last build changed',
    description: 'The facts that moved, as Markdown.',
    answers: { 200: text('The difference.', markdown) },
    serving: documents(60),
  },
  {
    id: 'getPactsSkill',
    method: 'GET',
    path: '/pacts/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'How an agent reads pacts',
    description: 'An agent skill file.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
  {
    id: 'getDeskSkill',
    method: 'GET',
    path: '/desk/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'How an agent reads the desk and the ledger',
    description: 'An agent skill file.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
  {
    id: 'getRegisterSkill',
    method: 'GET',
    path: '/register-and-earn/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'How an agent registers, sends in receipts and claims its spot',
    description: 'An agent skill file, with a worked example of what is signed.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
] as const satisfies readonly Route[]

export type RouteId = (typeof routes)[number]['id']

/** Routes that code answers: every write, handlers, and documents that have a form with a query. */
export type HandlerRouteId = Exclude<
  Extract<
    (typeof routes)[number],
    { readonly serving: { readonly kind: 'handler' } } | { readonly query: object }
  >['id'],
  BuiltInRouteId
>

/** Answered by the parts of the service that keep state of their own, see `app.ts`. */
type BuiltInRouteId = 'getHealth' | 'getStatsLive'

/** The route of an id; the ids are a closed set, so there always is one. */
export function routeOf(id: RouteId): Route {
  const route = routes.find((candidate) => candidate.id === id)
  if (route === undefined) throw new Error(`no route ${id}`)
  return route
}

/** The path of a route with its parameters filled in. */
export function pathOf(id: RouteId, params: Readonly<Record<string, string>> = {}): string {
  return routeOf(id).path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`route ${id} needs the parameter ${name}`)
    return value
  })
}

/** Seconds that a document route may be cached. */
export function maxAgeOf(id: RouteId): number {
  const { serving } = routeOf(id)
  if (serving.kind !== 'document') throw new Error(`route ${id} is not a document`)
  return serving.maxAgeSeconds
}
