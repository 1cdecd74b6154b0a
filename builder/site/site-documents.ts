import type { SitePage } from '../../src/pages/page.ts'
import { memoizeByReads, sameItems } from '../cache/memoize.ts'
import { asJson } from '../documents/document.ts'
import { feedDocuments } from '../documents/feeds.ts'
import { openApiOf } from '../documents/site.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { openApiTypes } from './docs/openapi-types.ts'
import { allPagesInOne, createPageDocuments } from './documents.ts'
import type { RenderedPage } from './documents.ts'
import { createPages } from './index.ts'
import { indexDocuments, introOf } from './indexes.ts'
import { receiptChecksDocument } from './receipt-checks.ts'
import { receiptRecords } from './receipts.ts'

/**
 * The site for people and what agents find it by: pages with their Markdown, feeds, indexes. They are made of the same
 * world as the documents of the API; the API describes none of them, so they stand in no route. `shareImages` are the
 * pictures that there are of pages.
 */
export function siteOf(
  world: World,
  shareImages: readonly PublicDocument[] = [],
): readonly PublicDocument[] {
  return createSite()(world, shareImages)
}

/** The same for one world after the other: what depends on no part that is another is not made again. */
export function createSite(): (
  world: World,
  shareImages: readonly PublicDocument[],
) => readonly PublicDocument[] {
  const pagesOf = createPages()
  const formsOf = memoizeByReads(({ site }: World) => createPageDocuments(site))
  const ofTheWorld = [receiptRecords, receiptChecksDocument, feedDocuments].map((kind) =>
    memoizeByReads((world: World) => [...kind(world)]),
  )
  const indexes = memoizeByReads((input: World & { readonly pages: readonly SitePage[] }) => [
    ...indexDocuments(input.pages, input),
  ])
  const inOne = memoizeByReads((input: World & { readonly made: readonly RenderedPage[] }) =>
    allPagesInOne(input.made, { path: '/llms-full.txt', intro: introOf(input) }),
  )
  const types = memoizeByReads(typesDocument)
  let pages: readonly SitePage[] = []
  let made: readonly RenderedPage[] = []
  return (world, shareImages) => {
    const images = new Set(shareImages.map(({ path }) => path))
    pages = sameItems(pages, pagesOf(world))
    const published = pages.map((page) => formsOf(world)(page, images))
    made = sameItems(
      made,
      published.map((page) => page.made),
    )
    return [
      ...published.flatMap(({ documents }) => documents),
      ...shareImages,
      ...ofTheWorld.flatMap((kind) => kind(world)),
      ...indexes({ ...world, pages }),
      inOne({ ...world, made }),
      types(world),
    ]
  }
}

function typesDocument(world: World): PublicDocument {
  return {
    path: '/openapi.d.ts',
    contentType: 'text/plain; charset=utf-8',
    maxAgeSeconds: 300,
    body: { text: openApiTypes(asJson(openApiOf(world))) },
    archive: null,
  }
}
