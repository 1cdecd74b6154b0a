/** The documents of a page: HTML for people, Markdown for agents. */
import { maxAgeOf } from '../../src/contract/routes.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world.ts'
import { stacked } from './blocks.ts'
import { layout } from './layout.ts'
import { shareImage, twinPath } from './page.ts'
import type { Page } from './page.ts'
import { markdownText } from './twin.ts'

/** Pages are cached like the other documents that people read. */
const maxAgeSeconds = maxAgeOf('getDeskFeed')

/** `images`: paths of the pictures that are published; a page refers to no other. */
export function* documentsOfPage(
  page: Page,
  { site }: World,
  images: ReadonlySet<string>,
): Generator<PublicDocument> {
  const body = stacked(page.body)
  const image = shareImage(page.path)
  yield {
    path: page.path,
    contentType: 'text/html; charset=utf-8',
    maxAgeSeconds,
    body: { text: layout(page, body.html, { site, image: images.has(image) ? image : null }) },
    archive: null,
  }
  if (page.markdown === false) return
  yield {
    path: twinPath(page.path),
    contentType: 'text/markdown; charset=utf-8',
    maxAgeSeconds,
    body: { text: markdownPage(page, body.md, site.url) },
    archive: null,
  }
}

function markdownPage({ path, title, description }: Page, body: string, siteUrl: string): string {
  const parts = [
    `# ${markdownText(title)}`,
    `> ${markdownText(description)}`,
    body,
    '---',
    `The same page for people: ${siteUrl}${path} · all pages: ${siteUrl}/llms.txt`,
  ]
  // A reader of the file alone has no base address: paths become whole addresses.
  return `${parts.join('\n\n').replace(/(?<!\\)\]\(\//g, () => `](${siteUrl}/`)}\n`
}
