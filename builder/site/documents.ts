/** The documents of a page: HTML and Markdown. */
import { createHash } from 'node:crypto'

import { maxAgeOf } from '../../src/contract/routes.ts'
import { stacked } from '../../src/pages/blocks.ts'
import { markdownText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { layout } from '../../src/pages/layout.ts'
import { markdownPath, shareImage } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { memoizeLatest } from '../cache/memoize.ts'
import { unarchived } from '../documents/document.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'

const maxAgeSeconds = maxAgeOf('getDeskFeed')

/** A page whose two forms are rendered on demand. */
export interface RenderedPage {
  readonly page: SitePage
  /** Hash of the inputs of the page; null if the page declares none. */
  readonly revision: string | null
  readonly html: () => string
  readonly markdown: () => string
}

export interface PublishedPage {
  readonly made: RenderedPage
  readonly documents: readonly PublicDocument[]
}

/** Returns a function that renders a page again only if the page or its preview image has changed. */
export function createPageDocuments(
  site: World['site'],
): (page: SitePage, images: ReadonlySet<string>) => PublishedPage {
  const known = new WeakMap<SitePage, PublishedPage & { readonly image: string | null }>()
  // The two forms of a page are rendered one after the other, from the same content.
  const contentOf = memoizeLatest(({ body }: SitePage) =>
    stacked(typeof body === 'function' ? body() : body),
  )
  return (page, images) => {
    const image = images.has(shareImage(page.path)) ? shareImage(page.path) : null
    const before = known.get(page)
    if (before !== undefined && before.image === image) return before
    const made = renderPage(page, contentOf, { site, image })
    const published = { made, image, documents: [...documentsOfPage(made)] }
    known.set(page, published)
    return published
  }
}

/** `image`: the path of the preview image, if one is published. */
function renderPage(
  page: SitePage,
  contentOf: (page: SitePage) => HtmlAndMarkdown,
  { site, image }: { readonly site: World['site']; readonly image: string | null },
): RenderedPage {
  const { body: _body, inputs, ...about } = page
  const htmlOf = (content: HtmlAndMarkdown) =>
    layout(page, content.html, { site, image, isPublished: true })
  const markdownOf = (content: HtmlAndMarkdown) => markdownPage(page, content.md, site.url)
  if (inputs === undefined) {
    const content = contentOf(page)
    const [htmlText, markdown] = [htmlOf(content), markdownOf(content)]
    return { page, revision: null, html: () => htmlText, markdown: () => markdown }
  }
  return {
    page,
    revision: revisionOf([about, site, image, inputs]),
    html: () => htmlOf(contentOf(page)),
    markdown: () => markdownOf(contentOf(page)),
  }
}

export function revisionOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

function* documentsOfPage(made: RenderedPage): Generator<PublicDocument> {
  const { page } = made
  yield form(made, page.path, 'text/html; charset=utf-8', made.html)
  if (page.markdown === false) return
  yield form(made, markdownPath(page.path), 'text/markdown; charset=utf-8', made.markdown)
}

function form(
  { revision }: RenderedPage,
  path: string,
  contentType: string,
  text: () => string,
): PublicDocument {
  const make = () => ({ text: text() })
  return revision === null
    ? unarchived(path, contentType, maxAgeSeconds, make())
    : unarchived(path, contentType, maxAgeSeconds, { revision, make })
}

/** Joins guides and lists in one file. Rails are left out, since the API returns them. */
export function allPagesInOne(
  made: readonly RenderedPage[],
  { path, intro }: { readonly path: string; readonly intro: string },
): PublicDocument {
  const shown = made.filter(
    ({ page, revision }) => page.listed !== false && isGuideOrList(page.path) && revision === null,
  )
  const text = [intro, ...shown.map((entry) => entry.markdown())].join('\n\n')
  return unarchived(path, 'text/plain; charset=utf-8', maxAgeSeconds, { text })
}

function isGuideOrList(path: string): boolean {
  return path.startsWith('/docs/') || (!path.slice(1).includes('/') && path !== '/changelog')
}

function markdownPage(
  { path, title, description }: SitePage,
  body: string,
  siteUrl: string,
): string {
  const parts = [
    `# ${markdownText(title)}`,
    `> ${markdownText(description)}`,
    body,
    '---',
    `This page as HTML: ${siteUrl}${path} · all pages: ${siteUrl}/llms.txt`,
  ]
  // A file read on its own has no base address, so paths become absolute.
  return `${parts.join('\n\n').replace(/(?<!\\)\]\(\//g, () => `](${siteUrl}/`)}\n`
}
