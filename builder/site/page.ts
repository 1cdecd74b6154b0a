/** What a page is. It says everything once; `documents.ts` publishes it in its two forms. */
import type { HtmlAndMarkdown } from './html-and-markdown.ts'

export interface SitePage {
  /** Without extension: `/`, `/rails/x402`. */
  readonly path: string
  readonly title: string
  /** One sentence for search engines, feeds and the index for agents. */
  readonly description: string
  /** Path of the entry of the navigation that is current on this page. */
  readonly nav: string | null
  /** A function where `madeOf` says what it depends on. */
  readonly body: Blocks | (() => Blocks)
  /**
   * All that the body is made of, as JSON can hold it. A page that says so is not made again as long as this, and the
   * rest of what is said of it here, stay the same.
   */
  readonly madeOf?: unknown
  readonly alternates?: readonly PageAlternate[]
  /** Style sheets beside the one of every page. */
  readonly styles?: readonly string[]
  /** Classic scripts, run in this order after the page was read. */
  readonly scripts?: readonly string[]
  /** False where the Markdown form is published by somebody else. */
  readonly markdown?: false
  /** False for pages that search engines need not list, such as one receipt of thousands. */
  readonly listed?: false
  /** For pages that search engines shall not keep: they say nothing by themselves. */
  readonly robots?: 'noindex'
}

type Blocks = readonly (HtmlAndMarkdown | null)[]

export interface PageAlternate {
  readonly type: string
  readonly href: string
  readonly title: string
}

/** Where the Markdown form of a page lies. */
export function markdownPath(path: string): string {
  return path === '/' ? '/index.md' : `${path}.md`
}

/** Where the picture lies that stands for a page where its address is shared, if it has one. */
export function shareImage(path: string): string {
  return `/share${path === '/' ? '/home' : path}.png`
}
