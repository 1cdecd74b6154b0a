import { hash } from './figures.ts'
import { code, link } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'

const pathIn = (folder: string) => (name: string) => `/${folder}/${name}`

export const railPath = pathIn('rails')
export const receiptPath = pathIn('receipts')
export const workerPath = pathIn('workers')
export const disputePath = pathIn('disputes')
export const jobPath = pathIn('jobs')
export const partnerPath = pathIn('partners')
export const pactPath = pathIn('pacts')
export const articlePath = pathIn('desk')

/** The record is as of the build of its page. */
export const receiptRecordPath = (id: string) => `${receiptPath(id)}.json`

/** The wallet, with a link if it has a worker page. */
export function walletText(wallet: string, pages: ReadonlySet<string>): HtmlAndMarkdown {
  return pages.has(wallet) ? link(workerPath(wallet), code(wallet)) : code(wallet)
}

export function shortWallet(wallet: string, pages: ReadonlySet<string>): HtmlAndMarkdown {
  return pages.has(wallet) ? link(workerPath(wallet), hash(wallet)) : hash(wallet)
}
