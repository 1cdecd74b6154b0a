/** A page in both forms. The builder publishes pages; the service renders those that are not published. */
import type { HtmlAndMarkdown } from './html-and-markdown.ts'

export interface SitePage {
  /** Without extension: `/`, `/rails/x402`. */
  readonly path: string
  readonly title: string
  /** One sentence for search engines, feeds and llms.txt. */
  readonly description: string
  /** Path of the navigation entry that is current on this page. */
  readonly nav: string | null
  /** A function if the page declares its `inputs`. */
  readonly body: PageBlocks | (() => PageBlocks)
  /** JSON value of everything the body depends on. A page is rendered again only if this or a field above changes. */
  readonly inputs?: unknown
  readonly alternates?: readonly PageAlternate[]
  /** Style sheets in addition to the common one. */
  readonly styles?: readonly string[]
  /** Classic scripts, run in this order after the page has been parsed. */
  readonly scripts?: readonly string[]
  /** False if the Markdown form is a document from elsewhere. */
  readonly markdown?: false
  /** False for pages left out of the sitemap and llms.txt, such as one receipt of thousands. */
  readonly listed?: false
  readonly robots?: 'noindex'
}

type PageBlocks = readonly (HtmlAndMarkdown | null)[]

export interface PageAlternate {
  readonly type: string
  readonly href: string
  readonly title: string
}

export function jsonAlternate(href: string, title = 'JSON'): PageAlternate {
  return { type: 'application/json', href, title }
}

/** Path of the Markdown form of a page. */
export function markdownPath(path: string): string {
  return path === '/' ? '/index.md' : `${path}.md`
}

/** Path of the preview image of a page, if it has one. */
export function shareImage(path: string): string {
  return `/share${path === '/' ? '/home' : path}.png`
}
