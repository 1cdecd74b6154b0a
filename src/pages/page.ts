/** A page. The builder publishes lists, rails and texts; the service renders receipts, workers, jobs, partners and disputes. */
import type { HtmlAndMarkdown } from './html-and-markdown.ts'

export interface SitePage {
  /** The path without an extension, such as `/` or `/rails/x402`. */
  readonly path: string
  readonly title: string
  /** One sentence for search engines, feeds and llms.txt. */
  readonly description: string
  /** Where the page belongs: shown above the title. An entry without a path is only a word. */
  readonly crumb?: readonly (readonly [href: string | null, label: string])[]
  /** Path of the current navigation entry. */
  readonly nav: string | null
  /** This is a function if the page declares its `inputs`. */
  readonly body: PageBlocks | (() => PageBlocks)
  /** Everything the body depends on, as JSON. The page is rendered again only if this or a field above changes. */
  readonly inputs?: unknown
  /** The content as JSON. The title of the link is `JSON` unless another is given. */
  readonly json?: readonly [path: string, title?: string]
  readonly feeds?: readonly PageFeed[]
  /** Style sheets in addition to the common one. */
  readonly styles?: readonly string[]
  /** Classic scripts, run in this order after parsing. */
  readonly scripts?: readonly string[]
  /** False if another module publishes the Markdown form. */
  readonly markdown?: false
  /** False excludes the page from the sitemap and llms.txt. */
  readonly listed?: false
  readonly robots?: 'noindex'
}

/** Members of the page of one entry of a list, which the service renders on request. */
export function entryOf(path: string, list: string, entry: string) {
  const crumb = [
    [path, list],
    [null, entry],
  ] as const
  return { crumb, nav: path, listed: false } as const
}

type PageBlocks = readonly (HtmlAndMarkdown | null)[]

interface PageFeed {
  readonly type: string
  readonly href: string
  readonly title: string
}

export function atomFeed(href: string, title: string): PageFeed {
  return { type: 'application/atom+xml', href, title }
}

export function markdownPath(path: string): string {
  return path === '/' ? '/index.md' : `${path}.md`
}

export function shareImage(path: string): string {
  return `/share${path === '/' ? '/home' : path}.png`
}
