/** Pages for searches and for older entries of lists. */
import type { ActionDeps } from '../actions/deps.ts'
import { jobId, jobStatus } from '../contract/schemas/job.ts'
import { receiptId } from '../contract/schemas/receipt.ts'
import { skillSlug } from '../contract/schemas/skill.ts'
import { HANDLE } from '../core/partner.ts'
import { walletOrNull } from '../core/wallet.ts'
import type { JobFilter } from '../db/jobs/jobs.ts'
import { jobRows } from '../db/jobs/jobs.ts'
import { jobView } from '../db/jobs/view.ts'
import type { RowList } from '../db/list-queries.ts'
import { namedWallets } from '../db/names.ts'
import { receiptRows, receiptView, walletsOf } from '../db/receipts/receipts.ts'
import { workerRows } from '../db/workers.ts'
import { links } from '../pages/blocks.ts'
import type { HtmlAndMarkdown } from '../pages/html-and-markdown.ts'
import { jobTable } from '../pages/job.ts'
import { listPath, olderLink, searchForm, searchedLists, shownTotal } from '../pages/lists.ts'
import type { SearchedList } from '../pages/lists.ts'
import type { Names } from '../pages/names.ts'
import type { SitePage } from '../pages/page.ts'
import { jobPath, partnerPath, receiptPath, workerPath } from '../pages/paths.ts'
import { receiptTable } from '../pages/receipt.ts'
import { workerTable } from '../pages/worker.ts'
import { readPage } from './lists.ts'
import type { RowPage } from './lists.ts'

const pageLimit = '100'

type ListQuery = Readonly<Record<string, string>>
type ListSource = (
  deps: ActionDeps,
  query: ListQuery,
) => Promise<SitePage | { readonly redirect: string }>

export const listPages = {
  receipts: async (deps, query) => {
    const q = searchOf(query)
    if (receiptId.safeParse(q).success) return { redirect: receiptPath(q) }
    const wallet = walletOrNull(q)?.id ?? null
    if (q !== '' && wallet === null) return noMatch('receipts', q)
    const filter = wallet === null ? {} : { wallet }
    const found = await rowsOf(deps, query, receiptRows(filter))
    const shown = found.rows.map((row) => receiptView(row, deps.site.url))
    const names = await namesOf(deps, walletsOf(found.rows))
    return listPage('receipts', q, found, receiptTable('receipts', captionOf(found), shown, names))
  },
  workers: async (deps, query) => {
    const q = searchOf(query)
    if (walletOrNull(q) !== null) return { redirect: workerPath(q) }
    if (q !== '' && !skillSlug.safeParse(q).success) return noMatch('workers', q)
    const filter = q === '' ? {} : { skill: q }
    const found = await rowsOf(deps, query, workerRows(filter))
    const shown = found.rows.map(({ worker }) => worker)
    return listPage('workers', q, found, workerTable(captionOf(found), shown))
  },
  jobs: async (deps, query) => {
    const q = searchOf(query)
    if (jobId.safeParse(q).success) return { redirect: jobPath(q) }
    const filter = jobFilter(q)
    if (filter === null) return noMatch('jobs', q)
    const at = { siteUrl: deps.site.url, nowMs: deps.clock.now() }
    const found = await rowsOf(deps, query, jobRows(at.nowMs, filter))
    const shown = found.rows.map((row) => jobView(row, at))
    return listPage('jobs', q, found, jobTable(captionOf(found), shown))
  },
  partners: async (_deps, query) => {
    const handle = searchOf(query)
    if (handle === '') return { redirect: '/partners' }
    return HANDLE.test(handle) ? { redirect: partnerPath(handle) } : noMatch('partners', handle)
  },
} as const satisfies Readonly<Record<SearchedList, ListSource>>

async function rowsOf<Row extends { readonly seq: number }>(
  { database }: ActionDeps,
  query: ListQuery,
  listed: RowList<Row>,
): Promise<RowPage<Row>> {
  return await readPage(database.list, { ...query, limit: pageLimit }, listed)
}

function searchOf(query: ListQuery): string {
  return query['q']?.trim() ?? ''
}

/** Statuses take precedence over skill slugs. Returns null if `q` is not a valid filter. */
function jobFilter(q: string): JobFilter | null {
  if (q === '') return {}
  const status = jobStatus.safeParse(q)
  if (status.success) return { status: status.data }
  const poster = walletOrNull(q)?.id ?? null
  if (poster !== null) return { poster }
  return skillSlug.safeParse(q).success ? { skill: q } : null
}

function captionOf({ fields }: RowPage<unknown>): string {
  return `Newest first, ${fields.count} of ${shownTotal(fields)}.`
}

function listPage(
  kind: Exclude<SearchedList, 'partners'>,
  q: string,
  { fields }: RowPage<unknown>,
  table: HtmlAndMarkdown,
): SitePage {
  const older = olderLink(kind, fields.next_cursor ?? null, q === '' ? {} : { q })
  return pageOfList(kind, q, `${shownTotal(fields)} found`, [table, older])
}

function noMatch(kind: SearchedList, q: string): SitePage {
  const wanted = searchedLists[kind].label.replace(/^./, (first) => first.toLowerCase())
  return pageOfList(kind, q, `Nothing found. Enter a ${wanted}.`, [])
}

function pageOfList(
  kind: SearchedList,
  q: string,
  result: string,
  blocks: readonly (HtmlAndMarkdown | null)[],
): SitePage {
  const { title } = searchedLists[kind]
  return {
    path: listPath(kind),
    title: q === '' ? title : `${title}: search results`,
    description: `${title} of the ledger, newest first.`,
    crumb: [[`/${kind}`, title]],
    nav: `/${kind}`,
    body: [searchForm(kind, q, result), ...blocks, links([[`/${kind}`, `All ${kind}`]])],
  }
}

export async function namesOf(
  { database, reference }: Pick<ActionDeps, 'database' | 'reference'>,
  wallets: readonly (string | null)[],
): Promise<Names> {
  return {
    rails: reference().rails,
    wallets: await database.list((db) => namedWallets(db, wallets)),
  }
}
