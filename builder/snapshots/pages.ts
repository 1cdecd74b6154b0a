import { openApiTypes } from '../pages/docs/openapi-types.ts'
import { allPagesInOne, documentsOfPage, madePage } from '../pages/documents.ts'
import { pagesOf } from '../pages/index.ts'
import { indexDocuments, introOf } from '../pages/indexes.ts'
import { receiptChecksDocument } from '../pages/receipt-checks.ts'
import { receiptRecords } from '../pages/receipts.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world.ts'
import { asJson } from './document.ts'
import { feedDocuments } from './feeds.ts'
import { openApiOf } from './site.ts'

/**
 * The site for people and what agents find it by: pages with their Markdown, feeds, indexes. They are made of the same
 * world as the documents of the API; the API describes none of them, so they stand in no route. `shareImages` are the
 * pictures that there are of pages.
 */
export function* siteOf(
  world: World,
  shareImages: readonly PublicDocument[] = [],
): Generator<PublicDocument> {
  const pages = [...pagesOf(world)]
  const images = new Set(shareImages.map(({ path }) => path))
  const made = pages.map((page) => madePage(page, world, images))
  for (const page of made) yield* documentsOfPage(page)
  yield* shareImages
  yield* receiptRecords(world)
  yield* receiptChecksDocument(world)
  yield* feedDocuments(world)
  yield* indexDocuments(pages, world)
  yield allPagesInOne(made, { path: '/llms-full.txt', intro: introOf(world) })
  yield {
    path: '/openapi.d.ts',
    contentType: 'text/plain; charset=utf-8',
    maxAgeSeconds: 300,
    body: { text: openApiTypes(asJson(openApiOf(world))) },
    archive: null,
  }
}
