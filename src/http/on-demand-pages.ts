/** Renders pages of receipts, workers, jobs, disputes and partners, and pages for searches and older entries of lists. */
import { z } from 'zod'

import type { ActionDeps } from '../actions/deps.ts'
import { viewOf } from '../actions/disputes.ts'
import { oathView } from '../actions/partner-profile.ts'
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import { parameter } from '../contract/route.ts'
import type { RouteId } from '../contract/routes.ts'
import { jobId } from '../contract/schemas/job.ts'
import { receiptId } from '../contract/schemas/receipt.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import { markMarkdownAsDemo } from '../core/demo-mark.ts'
import { cacheControl } from '../core/documents.ts'
import { entriesOf } from '../core/entries.ts'
import { belongings } from '../core/match-rails.ts'
import { parseWallet, walletOrNull } from '../core/wallet.ts'
import { disputeViews, disputeRows } from '../db/disputes.ts'
import { statementMonths } from '../db/income.ts'
import { findJob, jobRows } from '../db/jobs/jobs.ts'
import { jobDetailView, jobView } from '../db/jobs/view.ts'
import { findCheckpoint, findPublished } from '../db/log.ts'
import { oathRows } from '../db/oaths.ts'
import { findReceipt, receiptRows, receiptView, walletsOf } from '../db/receipts/receipts.ts'
import { findRecord } from '../db/records.ts'
import { earnedBy } from '../db/reputation.ts'
import { findWorker } from '../db/workers.ts'
import { contentOf } from '../pages/blocks.ts'
import { comparePage, comparePath } from '../pages/compare.ts'
import { disputePage } from '../pages/dispute.ts'
import { jobPage } from '../pages/job.ts'
import { unpublishedPage } from '../pages/layout.ts'
import { shownTotal } from '../pages/lists.ts'
import { markdownPage } from '../pages/markdown-page.ts'
import { matchPage, matchPath } from '../pages/match.ts'
import type { SitePage } from '../pages/page.ts'
import { partnerPage } from '../pages/partner.ts'
import { receiptPage } from '../pages/receipt.ts'
import { openMonthPage, shownLines, statementPage } from '../pages/statement.ts'
import { workerPage } from '../pages/worker.ts'
import type { ApiContext, Endpoint } from './context.ts'
import { policyHeaders, seeMarkdown } from './headers.ts'
import { listPages, namesOf } from './list-pages.ts'
import { listWhileOpen } from './lists.ts'
import { prefersMarkdown } from './negotiate.ts'
import type { PublishedDocuments } from './published-documents.ts'
import { publicPartner } from './routes/partners.ts'

const pageType = 'text/html; charset=utf-8'
const maxAgeSeconds = 60
const markdownType = 'text/markdown; charset=utf-8'
/** Shared caches may omit the query from their keys. */
const privateCache = `private, max-age=${maxAgeSeconds}`
/** Longer names are cut. */
const maxNameLength = 80
const shownReceipts = 200
const shownEntries = 50

interface PageDeps extends ActionDeps {
  readonly published: PublishedDocuments
}

type PageSource = (deps: PageDeps, id: string) => Promise<SitePage>

const pageSources = {
  '/receipts/{id}': receiptPageOf,
  '/workers/{id}': workerPageOf,
  '/workers/{wallet}/statements/{id}': statementPageOf,
  '/jobs/{id}': jobPageOf,
  '/disputes/{id}': async ({ database, clock, reference }, id) =>
    disputePage(await viewOf(database.reader, id, clock.now()), reference()),
  '/partners/{id}': partnerPageOf,
} as const satisfies Readonly<Record<string, PageSource>>

/** Reads of lists for a page end when the client disconnects. */
function depsFor(c: ApiContext, deps: PageDeps): PageDeps {
  const list = listWhileOpen(deps.database, c.env)
  return { ...deps, database: { ...deps.database, list } }
}

const searched = parameter(z.string(), 'Filter of the list.', '')

/** `/receipts/{id}` and its Markdown form `/receipts/{id}.md`, the list `/view/receipts`, and the same for the other kinds. */
export function onDemandEndpoints(deps: PageDeps): readonly Endpoint[] {
  const single = entriesOf(pageSources).map(([path, source]) =>
    endpoint(path, [], async (c) => {
      const { wallet, id: last = '' } = c.env.match?.params ?? {}
      const id = decodeURIComponent(wallet === undefined ? last : `${wallet}/${last}`)
      const isMarkdown = id.endsWith('.md')
      if (!isMarkdown && prefersMarkdown(c.env.incoming.headers.accept)) {
        return c.body(null, 303, seeMarkdown(c.env.path))
      }
      const page = await source(depsFor(c, deps), isMarkdown ? id.slice(0, -3) : id)
      const cache = cacheControl(maxAgeSeconds)
      if (!isMarkdown) {
        return textResponse(c, unpublishedPage(page, deps.site, true), { type: pageType, cache })
      }
      const text = markdownPage(page, contentOf(page).md, deps.site.url)
      const shown = deps.site.isDemo ? markMarkdownAsDemo(text) : text
      return textResponse(c, shown, { type: markdownType, cache })
    }),
  )
  const lists = entriesOf(listPages).map(([kind, source]) =>
    endpoint(`/view/${kind}`, ['q', 'cursor'], async (c) => {
      const page = await source(depsFor(c, deps), c.req.query())
      if (!('redirect' in page)) return answerResponse(c, deps, page)
      c.header('Cache-Control', privateCache)
      return c.redirect(page.redirect, 303)
    }),
  )
  return [...single, ...lists, matchEndpoint(deps), compareEndpoint(deps)]
}

const belonging = z.enum(entriesOf(belongings).map(([name]) => name))

function matchEndpoint(deps: PageDeps): Endpoint {
  const { published } = deps
  return endpoint(matchPath, ['skill', 'chain', 'max_entry_usdc', 'has'], (c) => {
    const { skill = '', chain = '', max_entry_usdc: most = '' } = c.req.query()
    const budget = Number(most)
    const has = (c.req.queries('has') ?? []).flatMap((name) => belonging.safeParse(name).data ?? [])
    const wishes = {
      ...(skill === '' ? {} : { skill: skill.slice(0, maxNameLength) }),
      ...(chain === '' ? {} : { chain: chain.slice(0, 40) }),
      ...(most === '' || Number.isNaN(budget) || budget < 0 ? {} : { maxEntryUsdc: budget }),
      ...(has.length === 0 ? {} : { has }),
    }
    const { opportunities, unknown_figures: unknown } = published.read('listOpportunities')
    const listed = {
      opportunities,
      isKnown: !unknown.includes('count'),
      rails: published.read('listRails').rails,
      flags: published.read('listHonestyFlags').flags,
      nowMs: deps.clock.now(),
      skills: published.read('listSkills').skills,
    }
    return answerResponse(c, deps, matchPage(listed, wishes, deps.site.url))
  })
}

/** The form sends `rails` once for each rail; links send it once with commas. */
function compareEndpoint(deps: PageDeps): Endpoint {
  const { published } = deps
  return endpoint(comparePath, ['rails'], (c) => {
    const asked = (c.req.queries('rails') ?? [])
      .flatMap((text) => text.split(','))
      .map((text) => text.trim().slice(0, maxNameLength))
      .filter((text) => text !== '')
    const listed = {
      rails: published.read('listRails').rails,
      flags: published.read('listHonestyFlags').flags,
      nowMs: deps.clock.now(),
    }
    return answerResponse(c, deps, comparePage(listed, asked))
  })
}

function endpoint(
  path: string,
  names: readonly string[],
  render: (c: ApiContext) => Promise<Response> | Response,
): Endpoint {
  return {
    route: {
      method: 'GET',
      path,
      query: Object.fromEntries(names.map((name) => [name, searched])),
      serving: { kind: 'handler', cache: 'no-store' },
    },
    isPage: true,
    concurrency: 'read',
    prepare: (c) => async () => await render(c),
  }
}

function answerResponse(c: ApiContext, { site }: PageDeps, page: SitePage): Response {
  const text = unpublishedPage({ ...page, robots: 'noindex' }, site)
  return textResponse(c, text, { type: pageType, cache: privateCache })
}

function textResponse(
  c: ApiContext,
  text: string,
  { type, cache }: { readonly type: string; readonly cache: string },
): Response {
  c.env.bytes = Buffer.byteLength(text)
  return c.body(text, 200, {
    'Content-Type': type,
    'Cache-Control': cache,
    ...policyHeaders(type),
    'X-Content-Type-Options': 'nosniff',
  })
}

async function receiptPageOf(deps: PageDeps, id: string): Promise<SitePage> {
  const { database, published, ledgerLog, site, reference } = deps
  const { reader } = database
  const record = receiptId.safeParse(id).success ? await findReceipt(reader, id) : null
  if (record === null) throw new ApiError('unknown_receipt')
  const receipt = receiptView(record, site.url)
  const [disputes, names, log, witnessed, points] = await Promise.all([
    disputeRows({ target: id }).read(reader, { limit: 50, before: null }),
    namesOf(deps, walletsOf([record])),
    findPublished(reader, 'receipt', record.id),
    findCheckpoint(reader, 'witnessed'),
    earnedBy(reader, record.id),
  ])
  const { witnesses, quorum } = ledgerLog.witnesses
  return receiptPage(receipt, {
    names,
    platformName: reference().platforms.get(receipt.platform ?? '')?.name,
    pactId: pactOf(published, receipt),
    contradiction: contradictionOf(published, receipt),
    logIndex: log?.position ?? null,
    quorum: witnesses.length === 0 ? null : quorum,
    isWitnessed: log !== null && log.position < (witnessed?.size ?? 0),
    points,
    disputes: await disputeViews(reader, disputes, deps.clock.now()),
  })
}

/** Anyone may claim a `job_id`: only the pact whose published record names the receipt is linked. */
function pactOf(
  published: PublishedDocuments,
  { job_id: job = '', receipt_id: receipt }: Receipt,
): string | null {
  const [, id] = /^pact-(\d+)$/.exec(job) ?? []
  const pact = id === undefined ? null : optional(published, 'getPact', { id })
  return pact?.state === 'settled' && pact.receipt_id === receipt ? pact.pact_id : null
}

/** What an open flag says about the receipt: that it was reversed, or that it does not match its pact. */
function contradictionOf(published: PublishedDocuments, receipt: Receipt) {
  const { receipt_id: id, onchain_verified: isProven } = receipt
  const start = `${id}: `
  for (const flag of optional(published, 'listHonestyFlags', {})?.flags ?? []) {
    const { kind, evidence } = flag
    // The receipt is newer than the published flags: it may have been verified again.
    if (kind === 'receipt_reversed' && evidence['receipt_id'] === id && !isProven) {
      return { flag, text: String(evidence['reason']) }
    }
    // A finding about another receipt of the pact says nothing about this one.
    const about =
      kind === 'pact_sources_disagree'
        ? Object.values(evidence).find((text) => String(text).startsWith(start))
        : undefined
    if (about !== undefined) return { flag, text: String(about).slice(start.length) }
  }
  return null
}

/** Null also if it cannot be read: the page then lacks only this part. */
function optional<Id extends RouteId>(
  published: PublishedDocuments,
  id: Id,
  params: Readonly<Record<string, string>>,
): AnswerOf<Id> | null {
  try {
    return published.find(id, params)
  } catch {
    return null
  }
}

/** Registered wallets and wallets with receipts have a page. */
async function workerPageOf(deps: PageDeps, text: string): Promise<SitePage> {
  const { database, published, site } = deps
  const wallet = walletOrNull(text)
  if (wallet === null) throw new ApiError('unknown_worker')
  const receipts = receiptRows({ wallet: wallet.id })
  const [worker, records, total, statements] = await database.list((db) =>
    Promise.all([
      findWorker(db, wallet.id),
      receipts.read(db, { limit: shownReceipts, before: null }),
      receipts.count(db),
      statementMonths(db, wallet.id),
    ]),
  )
  if (worker === null && records.length === 0) throw new ApiError('unknown_worker')
  return workerPage(wallet.display, {
    worker: worker ?? undefined,
    standing: optional(published, 'getLeaderboard', {})?.leaderboard.find(
      (entry) => entry.wallet === wallet.display,
    ),
    receipts: records.map((record) => receiptView(record, site.url)),
    total: shownTotal(total),
    names: await namesOf(deps, walletsOf(records)),
    statements,
  })
}

async function statementPageOf(deps: PageDeps, path: string): Promise<SitePage> {
  const [text = '', month = ''] = path.split('/')
  const wallet = walletOrNull(text)
  if (wallet === null) throw new ApiError('not_found')
  const found = await deps.database.list((db) =>
    findRecord(db, 'statements', { wallet: wallet.id, month }),
  )
  if (found === null) {
    const { open } = await deps.database.list((db) => statementMonths(db, wallet.id))
    if (!open.includes(month)) throw new ApiError('not_found')
    return openMonthPage(wallet.display, month)
  }
  const { wallet: worker, receipts } = found.body
  const ids = [worker, ...receipts.slice(0, shownLines).map(({ payer = '' }) => payer)].map(
    (one) => walletOrNull(one)?.id ?? null,
  )
  return statementPage(found.body, { names: await namesOf(deps, ids), sha256: found.sha256 })
}

async function jobPageOf(deps: PageDeps, id: string): Promise<SitePage> {
  const { database, site, clock } = deps
  const record = jobId.safeParse(id).success ? await findJob(database.reader, id) : null
  if (record === null) throw new ApiError('unknown_job')
  const job = await jobDetailView(database.reader, record, {
    siteUrl: site.url,
    nowMs: clock.now(),
  })
  const wallets = [job.poster, job.worker ?? ''].map((wallet) => walletOrNull(wallet)?.id ?? null)
  return jobPage(job, await namesOf(deps, wallets))
}

async function partnerPageOf(deps: PageDeps, handle: string): Promise<SitePage> {
  const { database, reference, clock, site } = deps
  const { reader } = database
  const at = { siteUrl: site.url, nowMs: clock.now() }
  const partner = await publicPartner(reader, handle, at.nowMs)
  const posted = jobRows(at.nowMs, { poster: parseWallet(partner.wallet).id })
  const newest = { limit: shownEntries, before: null }
  const [oaths, total, jobs, jobsTotal] = await Promise.all([
    oathRows(handle).read(reader, newest),
    oathRows(handle).count(reader),
    posted.read(reader, newest),
    posted.count(reader),
  ])
  return partnerPage(partner, {
    tier: reference().tiers.get(partner.tier),
    jobs: jobs.map((job) => jobView(job, at)),
    jobsTotal: shownTotal(jobsTotal),
    oaths: oaths.map(oathView),
    total: shownTotal(total),
  })
}
