/** Pages for searches and for older entries of lists. */
import type { ActionDeps } from '../actions/deps.ts'
import { jobId, jobStatus } from '../contract/schemas/job.ts'
import { receiptId } from '../contract/schemas/receipt.ts'
import { skillSlug } from '../contract/schemas/skill.ts'
import { HANDLE } from '../core/partner.ts'
import { WalletError, parseWallet } from '../core/wallet.ts'
import { countJobs, listJobs } from '../db/jobs/jobs.ts'
import type { JobFilter } from '../db/jobs/jobs.ts'
import { jobView } from '../db/jobs/view.ts'
import { countReceipts, listReceipts } from '../db/receipts/receipts.ts'
import { receiptView } from '../db/receipts/view.ts'
import { countWorkers, listWorkers } from '../db/workers.ts'
import { links } from '../pages/blocks.ts'
import type { HtmlAndMarkdown } from '../pages/html-and-markdown.ts'
import { jobTable } from '../pages/job.ts'
import { listPath, olderLink, searchForm } from '../pages/lists.ts'
import type { SearchedList } from '../pages/lists.ts'
import type { SitePage } from '../pages/page.ts'
import { jobPath, partnerPath, receiptPath, workerPath } from '../pages/paths.ts'
import { receiptTable } from '../pages/receipt.ts'
import { workerTable } from '../pages/worker.ts'
import { cutPage, pageOf } from './pages.ts'

const pageLimit = '100'

type ListQuery = Readonly<Record<string, string>>
type ListSource = (
  deps: ActionDeps,
  query: ListQuery,
) => Promise<SitePage | { readonly redirect: string }>

export const listPages = {
  receipts: async (deps, query) => {
    const { q = '', reader, page } = request('receipts', deps, query)
    if (receiptId.safeParse(q).success) return { redirect: receiptPath(q) }
    const wallet = walletId(q)
    if (q !== '' && wallet === null) return noMatch('receipts', q)
    const filter = wallet === null ? {} : { wallet }
    const [rows, total] = await Promise.all([
      listReceipts(reader, { ...page, limit: page.limit + 1, filter }),
      countReceipts(reader, filter),
    ])
    const cut = cutPage('receipts', rows, page.limit)
    const shown = cut.rows.map((row) => receiptView(row, deps.siteUrl))
    const table = receiptTable('receipts', caption(shown.length, total), shown)
    return listPage('receipts', { q, total, table, next: cut.next.next_cursor })
  },
  workers: async (deps, query) => {
    const { q = '', reader, page } = request('workers', deps, query)
    if (walletId(q) !== null) return { redirect: workerPath(q) }
    if (q !== '' && !skillSlug.safeParse(q).success) return noMatch('workers', q)
    const filter = q === '' ? {} : { skill: q }
    const [rows, total] = await Promise.all([
      listWorkers(reader, { ...page, limit: page.limit + 1, filter }),
      countWorkers(reader, filter),
    ])
    const cut = cutPage('workers', rows, page.limit)
    const shown = cut.rows.map(({ worker }) => worker)
    const wallets = new Set(shown.map(({ wallet }) => wallet))
    const table = workerTable(caption(shown.length, total), shown, wallets)
    return listPage('workers', { q, total, table, next: cut.next.next_cursor })
  },
  jobs: async (deps, query) => {
    const { q = '', reader, page } = request('jobs', deps, query)
    if (jobId.safeParse(q).success) return { redirect: jobPath(q) }
    const filter = jobFilter(q)
    if (filter === null) return noMatch('jobs', q)
    const at = { siteUrl: deps.siteUrl, nowMs: deps.clock.now() }
    const [rows, total] = await Promise.all([
      listJobs(reader, { ...page, limit: page.limit + 1, nowMs: at.nowMs, filter }),
      countJobs(reader, at.nowMs, filter),
    ])
    const cut = cutPage('jobs', rows, page.limit)
    const shown = cut.rows.map((row) => jobView(row, at))
    const table = jobTable(caption(shown.length, total), shown)
    return listPage('jobs', { q, total, table, next: cut.next.next_cursor })
  },
  partners: async (_deps, { q = '' }) => {
    const handle = q.trim()
    return HANDLE.test(handle) ? { redirect: partnerPath(handle) } : noMatch('partners', handle)
  },
} as const satisfies Readonly<Record<SearchedList, ListSource>>

function request(kind: SearchedList, { database }: ActionDeps, query: ListQuery) {
  return {
    q: query['q']?.trim(),
    reader: database.reader,
    page: pageOf(kind, { ...query, limit: pageLimit }),
  }
}

/** Statuses take precedence over skill slugs. Null if `q` is no valid filter. */
function jobFilter(q: string): JobFilter | null {
  if (q === '') return {}
  const status = jobStatus.safeParse(q)
  if (status.success) return { status: status.data }
  const poster = walletId(q)
  if (poster !== null) return { poster }
  return skillSlug.safeParse(q).success ? { skill: q } : null
}

function walletId(text: string): string | null {
  try {
    return parseWallet(text).id
  } catch (error) {
    if (error instanceof WalletError) return null
    throw error
  }
}

function caption(shown: number, total: number): string {
  return `Newest first, ${shown} of ${total}.`
}

const titles: Readonly<Record<SearchedList, string>> = {
  receipts: 'Receipts',
  workers: 'Workers',
  jobs: 'Jobs',
  partners: 'Partners',
}

interface ListResult {
  readonly q: string
  readonly total: number
  readonly table: HtmlAndMarkdown
  /** Cursor of the next page. */
  readonly next: string | undefined
}

function listPage(
  kind: Exclude<SearchedList, 'partners'>,
  { q, total, table, next }: ListResult,
): SitePage {
  const query: ListQuery = q === '' ? {} : { q }
  return pageOfList(kind, q, `${total} found`, [table, olderLink(kind, next ?? null, query)])
}

function noMatch(kind: SearchedList, q: string): SitePage {
  return pageOfList(kind, q, 'This list cannot be searched for that.', [])
}

function pageOfList(
  kind: SearchedList,
  q: string,
  result: string,
  blocks: readonly (HtmlAndMarkdown | null)[],
): SitePage {
  const title = titles[kind]
  return {
    path: listPath(kind),
    title: q === '' ? title : `${title}: search results`,
    description: `${title} of the ledger, newest first.`,
    nav: null,
    body: [searchForm(kind, q, result), ...blocks, links([[`/${kind}`, `All ${kind}`]])],
  }
}
