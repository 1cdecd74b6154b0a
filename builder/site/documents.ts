/** The documents of a page: HTML and Markdown. */
import { createHash } from 'node:crypto'

import { maxAgeOf } from '../../src/contract/routes.ts'
import { contentOf } from '../../src/pages/blocks.ts'
import { layout } from '../../src/pages/layout.ts'
import { markdownPage } from '../../src/pages/markdown-page.ts'
import { markdownPath, shareImage } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { memoizeLatest } from '../cache/memoize.ts'
import { unarchived } from '../documents/document.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { modelsPath } from './docs/models.ts'
import { referencePath } from './docs/reference.ts'

const maxAgeSeconds = maxAgeOf('getDeskFeed')

export interface PublishedPage {
  readonly page: SitePage
  readonly documents: readonly PublicDocument[]
}

const markdownType = 'text/markdown; charset=utf-8'

/** Returns a function that describes the documents of a page again only if the page or its preview image has changed. */
export function createPageDocuments(
  site: World['site'],
): (page: SitePage, images: ReadonlySet<string>) => PublishedPage {
  const known = new WeakMap<SitePage, PublishedPage & { readonly image: string | null }>()
  // The two forms of a page are rendered one after the other, from the same content.
  const latestContentOf = memoizeLatest(contentOf)
  return (page, images) => {
    const image = images.has(shareImage(page.path)) ? shareImage(page.path) : null
    const before = known.get(page)
    if (before !== undefined && before.image === image) return before
    const htmlText = () =>
      layout(page, latestContentOf(page).html, {
        site,
        image,
        isPublished: true,
        hasMarkdown: true,
      })
    const markdown = () => markdownPage(page, latestContentOf(page).md, site.url)
    const form = createForm(page, [site, image])
    const documents = [form(page.path, 'text/html; charset=utf-8', htmlText)]
    if (page.markdown !== false) {
      documents.push(form(markdownPath(page.path), markdownType, markdown))
    }
    const published = { page, documents, image }
    known.set(page, published)
    return published
  }
}

/** A page that declares its inputs is rendered only if its revision is not published yet. */
function createForm({ body: _body, inputs, ...about }: SitePage, others: readonly unknown[]) {
  const depends = JSON.stringify([about, ...others, inputs])
  const revision = createHash('sha256').update(depends).digest('base64url')
  return (path: string, contentType: string, text: () => string): PublicDocument => {
    const make = () => ({ text: text() })
    const body = inputs === undefined ? make() : { revision, make }
    return unarchived(path, contentType, maxAgeSeconds, body)
  }
}

/** Joins the guides in one file. The API returns lists and rails, which change with polls and receipts. */
export function guidesInOne(guides: readonly PublishedPage[], intro: string): PublicDocument {
  const texts = guides
    .flatMap(({ documents }) => documents.filter((form) => form.contentType === markdownType))
    .flatMap(({ body }) => ('text' in body ? [body.text] : []))
  const text = [intro, ...texts].join('\n\n')
  return unarchived('/llms-full.txt', 'text/plain; charset=utf-8', maxAgeSeconds, { text })
}

export function isGuide({ page: { path } }: PublishedPage): boolean {
  return path.startsWith('/docs') && !path.startsWith(referencePath) && path !== modelsPath
}
