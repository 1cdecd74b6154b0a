/**
 * Pages for people that lie under no path of their own: what went wrong, told on a page where a page was asked for, and
 * the page of a thing that is too old to have a published one.
 */
import type { IncomingMessage } from 'node:http'

import type { Hono } from 'hono'

import type { ActionDeps } from '../actions/deps.ts'
import { ApiError } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { apiPrefix, mcpPath } from '../contract/route.ts'
import { jobId } from '../contract/schemas/job.ts'
import { receiptId } from '../contract/schemas/receipt.ts'
import { entriesOf } from '../core/entries.ts'
import { HANDLE } from '../core/partner.ts'
import { notFoundPage, troublePage, viewPages } from '../core/site-pages.ts'
import type { ViewedKind } from '../core/site-pages.ts'
import { WalletError, parseWallet } from '../core/wallet.ts'
import { findJob } from '../db/jobs/jobs.ts'
import { findPartner } from '../db/partners/partners.ts'
import { findReceipt, listReceipts } from '../db/receipts/receipts.ts'
import { findWorker } from '../db/workers.ts'
import type { ConcurrencyLimit } from '../limits/concurrency-limits.ts'
import type { HonoEnv } from './context.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import type { StoredDocument } from './documents.ts'
import type { ErrorAnswer } from './errors.ts'
import { contentSecurityPolicy } from './headers.ts'
import { prefersHtml } from './negotiate.ts'

/** The answer to an error as the caller wants to read it: a page where the request is a browser's, else as it is. */
export type ForReader = (req: IncomingMessage, answer: ErrorAnswer) => ErrorAnswer

/** Paths of programs: their errors are JSON whoever asks. */
const programPaths = [apiPrefix, mcpPath, '/.well-known/', '/healthz', '/readyz']
const htmlType = 'text/html; charset=utf-8'

export function createErrorPages(store: Pick<DocumentStore, 'get'>): ForReader {
  return (req, answer) => {
    const { url = '', method } = req
    const isPage = answer.status === 404 || answer.status >= 500
    if (!isPage || (method !== 'GET' && method !== 'HEAD')) return answer
    if (programPaths.some((path) => url.startsWith(path))) return answer
    if (!prefersHtml(req.headers.accept)) return answer
    const page = store.get(answer.status === 404 ? notFoundPage : troublePage)
    const body = page?.variants.identity.body.toString('utf8') ?? barePage(answer.status)
    const headers = {
      ...answer.headers,
      'Content-Type': htmlType,
      'Content-Length': String(Buffer.byteLength(body)),
      'Content-Security-Policy': contentSecurityPolicy(htmlType),
      Vary: 'Accept',
    }
    return { status: answer.status, body, headers }
  }
}

/** While no set is served. */
function barePage(status: number): string {
  const [title, text] =
    status === 404
      ? ['Nothing here', 'There is nothing at this address.']
      : ['Not now', 'The ledger cannot answer right now. Please try again in a minute.']
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title} · Agent Income Ledger</title><h1>${title}</h1><p>${text}</p></html>\n`
}

interface Viewed {
  /** What is missing where there is no such thing. */
  readonly missing: ErrorCode
  readonly exists: (deps: ActionDeps, id: string) => Promise<boolean>
}

const viewed: Readonly<Record<ViewedKind, Viewed>> = {
  '/receipts': {
    missing: 'unknown_receipt',
    exists: async ({ database }, id) =>
      receiptId.safeParse(id).success && (await findReceipt(database.reader, id)) !== null,
  },
  '/workers': { missing: 'unknown_worker', exists: hasWorked },
  '/jobs': {
    missing: 'unknown_job',
    exists: async ({ database }, id) =>
      jobId.safeParse(id).success && (await findJob(database.reader, id)) !== null,
  },
  '/partners': {
    missing: 'unknown_partner',
    exists: async ({ database }, handle) =>
      HANDLE.test(handle) && (await findPartner(database.reader, { handle })) !== null,
  },
}

/** Whoever registered has a page, and whoever was paid. */
async function hasWorked({ database: { reader } }: ActionDeps, text: string): Promise<boolean> {
  try {
    const { id: wallet } = parseWallet(text)
    if ((await findWorker(reader, wallet)) !== null) return true
    const filter = { wallet }
    return (await listReceipts(reader, { limit: 1, before: null, filter })).length > 0
  } catch (error) {
    if (error instanceof WalletError) return false
    throw error
  }
}

/** Whether the service looks into the database for a page at this path. */
export function isViewPath(path: string): boolean {
  return kinds.some((kind) => path.startsWith(`${kind}/`))
}

const kinds = Object.keys(viewed)

/** `/receipts/{id}` and its like, where nothing is published under that path. */
export function installViews(
  hono: Hono<HonoEnv>,
  deps: ActionDeps,
  store: Pick<DocumentStore, 'get' | 'state'>,
  limit: ConcurrencyLimit,
): void {
  for (const [kind, { missing, exists }] of entriesOf(viewed)) {
    hono.get(`${kind}/:id`, async (c) => {
      const isThere = await limit.run(() => exists(deps, c.req.param('id')))
      if (!isThere) throw new ApiError(missing)
      const page = store.get(viewPages[kind])
      if (page === undefined) throw new ApiError('unavailable', nothingServed(store))
      const { body } = page.variants.identity
      c.env.bytes = body.byteLength
      return new Response(new Uint8Array(body), { status: 200, headers: headersOf(page) })
    })
  }
}

function headersOf({ variants: { identity } }: StoredDocument): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < identity.headers.length; at += 2) {
    headers.set(identity.headers[at] ?? '', identity.headers[at + 1] ?? '')
  }
  return headers
}
