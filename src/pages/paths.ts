import { hash } from './figures.ts'
import { code, link } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'

export function railPath(rail: string): string {
  return `/rails/${rail}`
}

export function receiptPath(id: string): string {
  return `/receipts/${id}`
}

/** The record is as of the build of its page. */
export function receiptRecordPath(id: string): string {
  return `${receiptPath(id)}.json`
}

export function workerPath(wallet: string): string {
  return `/workers/${wallet}`
}

export function disputePath(id: string): string {
  return `/disputes/${id}`
}

export function jobPath(id: string): string {
  return `/jobs/${id}`
}

export function partnerPath(handle: string): string {
  return `/partners/${handle}`
}

export function pactPath(id: string): string {
  return `/pacts/${id}`
}

/** The wallet, with a link if it has a worker page. */
export function walletText(wallet: string, pages: ReadonlySet<string>): HtmlAndMarkdown {
  return pages.has(wallet) ? link(workerPath(wallet), code(wallet)) : code(wallet)
}

export function shortWallet(wallet: string, pages: ReadonlySet<string>): HtmlAndMarkdown {
  return pages.has(wallet) ? link(workerPath(wallet), hash(wallet)) : hash(wallet)
}
