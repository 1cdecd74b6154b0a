/** Renders pages of receipts, workers, jobs and partners that are too old to be published. */
import { z } from 'zod'

import type { ActionDeps } from '../actions/deps.ts'
import { viewOf } from '../actions/disputes.ts'
import { oathView } from '../actions/partner-view.ts'
import { ApiError } from '../contract/errors.ts'
import { parameter } from '../contract/route.ts'
import { pathOf } from '../contract/routes.ts'
import { jobId } from '../contract/schemas/job.ts'
import { receiptId } from '../contract/schemas/receipt.ts'
import { leaderboard } from '../contract/schemas/worker.ts'
import type { LeaderboardEntry } from '../contract/schemas/worker.ts'
import { version } from '../contract/version.ts'
import { markPageAsDemo } from '../core/demo-mark.ts'
import { cacheControl } from '../core/documents.ts'
import { entriesOf } from '../core/entries.ts'
import { HANDLE } from '../core/partner.ts'
import { walletOrNull } from '../core/wallet.ts'
import { disputeViews, listDisputes } from '../db/disputes.ts'
import { findJob } from '../db/jobs/jobs.ts'
import { jobDetailView } from '../db/jobs/view.ts'
import { countOaths, oathsOfHandle } from '../db/oaths.ts'
import { findPartner } from '../db/partners/partners.ts'
import { partnerView } from '../db/partners/record.ts'
import { countReceipts, findReceipt, listReceipts } from '../db/receipts/receipts.ts'
import { receiptView } from '../db/receipts/view.ts'
import { findWorker } from '../db/workers.ts'
import { stacked } from '../pages/blocks.ts'
import { disputePage } from '../pages/dispute.ts'
import { jobPage } from '../pages/job.ts'
import { layout } from '../pages/layout.ts'
import { shownTotal } from '../pages/lists.ts'
import type { SitePage } from '../pages/page.ts'
import { partnerPage } from '../pages/partner.ts'
import { receiptPage } from '../pages/receipt.ts'
import { workerPage } from '../pages/worker.ts'
import type { ApiContext, Endpoint } from './context.ts'
import type { DocumentStore } from './document-store.ts'
import { policyHeaders } from './headers.ts'
import { listPages } from './list-pages.ts'
import { listWhileOpen } from './pages.ts'

const pageType = 'text/html; charset=utf-8'
const maxAgeSeconds = 60
const privateCache = `private, max-age=${maxAgeSeconds}`
const shownReceipts = 200
const shownOaths = 50

type Store = Pick<DocumentStore, 'get'>
type PageSource = (deps: ActionDeps, store: Store, id: string) => Promise<SitePage>

const pageSources = {
  receipts: receiptPageOf,
  workers: workerPageOf,
  jobs: jobPageOf,
  disputes: disputePageOf,
  partners: partnerPageOf,
} as const satisfies Readonly<Record<string, PageSource>>

/** The lists of a page end when the client has gone. */
function depsFor(c: ApiContext, deps: ActionDeps): ActionDeps {
  const list = listWhileOpen(deps.database, c.env)
  return { ...deps, database: { ...deps.database, list } }
}

type Rendered = SitePage | { readonly redirect: string }
type Given = Readonly<Record<string, string>>

const searched = parameter(z.string(), 'What the page shows.', '')

/** `/receipts/{id}`, `/view/receipt?id=`, the list `/view/receipts`, and the same for the other kinds. */
export function onDemandEndpoints(deps: ActionDeps, store: Store): readonly Endpoint[] {
  /** `given` has the parameters of the path and those of `names` that the query has. */
  const endpoint = (
    path: string,
    names: readonly string[],
    render: (deps: ActionDeps, given: Given) => Promise<Rendered>,
  ): Endpoint => ({
    route: {
      method: 'GET',
      path,
      query: Object.fromEntries(names.map((name) => [name, searched])),
      serving: { kind: 'handler', cache: 'no-store' },
    },
    isPage: true,
    concurrency: 'read',
    prepare: (c) => async () => {
      // Shared caches may leave the query out of their keys.
      const cache = names.length === 0 ? cacheControl(maxAgeSeconds) : privateCache
      const page = await render(depsFor(c, deps), givenIn(c, names))
      if (!('redirect' in page)) return pageResponse(c, deps, page, cache)
      c.header('Cache-Control', cache)
      return c.redirect(page.redirect, 303)
    },
  })
  const single = entriesOf(pageSources).flatMap(([kind, source]) => {
    const render = (own: ActionDeps, { id = '' }: Given) => source(own, store, id)
    return [
      endpoint(`/${kind}/{id}`, [], render),
      endpoint(`/view/${kind.slice(0, -1)}`, ['id'], render),
    ]
  })
  const lists = entriesOf(listPages).map(([kind, source]) =>
    endpoint(`/view/${kind}`, ['q', 'cursor'], source),
  )
  return [...single, ...lists]
}

function givenIn(c: ApiContext, names: readonly string[]): Given {
  const { id = '' } = c.env.match?.params ?? {}
  const query = Object.entries(c.req.query()).filter(([name]) => names.includes(name))
  return { id: decodeURIComponent(id), ...Object.fromEntries(query) }
}

function pageResponse(
  c: ApiContext,
  { siteUrl, isDemo }: ActionDeps,
  page: SitePage,
  cache: string,
): Response {
  const { html } = stacked(typeof page.body === 'function' ? page.body() : page.body)
  const rendered = layout({ ...page, robots: 'noindex' }, html, {
    site: { url: siteUrl, version },
    image: null,
    isPublished: false,
  })
  const text = isDemo === true ? markPageAsDemo(rendered) : rendered
  c.env.bytes = Buffer.byteLength(text)
  return c.body(text, 200, {
    'Content-Type': pageType,
    'Cache-Control': cache,
    ...policyHeaders(pageType),
    'X-Content-Type-Options': 'nosniff',
  })
}

async function receiptPageOf(deps: ActionDeps, _store: Store, id: string): Promise<SitePage> {
  const { database, siteUrl, reference } = deps
  const record = receiptId.safeParse(id).success ? await findReceipt(database.reader, id) : null
  if (record === null) throw new ApiError('unknown_receipt')
  const receipt = receiptView(record, siteUrl)
  const filter = { target: { receipt_id: record.id } }
  const disputes = await listDisputes(database.reader, { limit: 50, before: null, filter })
  return receiptPage(receipt, {
    workerWallets: new Set([receipt.to_wallet]),
    isRailListed: reference().rails.has(receipt.rail),
    pactId: null,
    hasRecord: false,
    disputes: await disputeViews(database.reader, disputes, deps.clock.now()),
  })
}

async function disputePageOf(
  { database, clock }: ActionDeps,
  _store: Store,
  id: string,
): Promise<SitePage> {
  return disputePage(await viewOf(database.reader, id, clock.now()))
}

/** Registered wallets and wallets with receipts have a page. */
async function workerPageOf(deps: ActionDeps, store: Store, text: string): Promise<SitePage> {
  const { database, siteUrl } = deps
  const wallet = walletOrNull(text)
  if (wallet === null) throw new ApiError('unknown_worker')
  const filter = { wallet: wallet.id }
  const [worker, records, total] = await database.list((db) =>
    Promise.all([
      findWorker(db, wallet.id),
      listReceipts(db, { limit: shownReceipts, before: null, filter }),
      countReceipts(db, filter),
    ]),
  )
  if (worker === null && records.length === 0) throw new ApiError('unknown_worker')
  return workerPage(wallet.display, {
    worker: worker ?? undefined,
    standing: standings(store).find((entry) => entry.wallet === wallet.display),
    receipts: records.map((record) => receiptView(record, siteUrl)),
    receiptsCaption: `Newest first, ${records.length} of ${shownTotal(total)}.`,
    allReceipts: null,
  })
}

function standings(store: Store): readonly LeaderboardEntry[] {
  const body = store.get(pathOf('getLeaderboard'))?.variants.identity.body.toString('utf8')
  const parsed = body === undefined ? null : leaderboard.safeParse(JSON.parse(body))
  return parsed?.success === true ? parsed.data.leaderboard : []
}

async function jobPageOf(deps: ActionDeps, _store: Store, id: string): Promise<SitePage> {
  const { database, siteUrl, clock } = deps
  const record = jobId.safeParse(id).success ? await findJob(database.reader, id) : null
  if (record === null) throw new ApiError('unknown_job')
  const job = await jobDetailView(database.reader, record, { siteUrl, nowMs: clock.now() })
  return jobPage(job, new Set(job.worker === undefined ? [] : [job.worker]))
}

async function partnerPageOf(deps: ActionDeps, _store: Store, handle: string): Promise<SitePage> {
  const { database, reference } = deps
  const record = HANDLE.test(handle) ? await findPartner(database.reader, { handle }) : null
  if (record === null) throw new ApiError('unknown_partner')
  const [oaths, total] = await Promise.all([
    oathsOfHandle(database.reader, handle, { limit: shownOaths, before: null }),
    countOaths(database.reader, handle),
  ])
  const partner = partnerView(record)
  return partnerPage(partner, {
    tierName: reference().tiers.get(partner.tier)?.name,
    workerWallets: new Set(),
    history: { oaths: oaths.map(oathView), total: shownTotal(total) },
  })
}
