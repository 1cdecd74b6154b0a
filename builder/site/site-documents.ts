import type { SitePage } from '../../src/pages/page.ts'
import { memoizeLatest, sameItems } from '../cache/memoize.ts'
import { feedDocuments, tradeFeedDocuments } from '../documents/feeds.ts'
import type { PublicDocument } from '../publish/document.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { World } from '../world/world.ts'
import { createReferencePages } from './docs/page.ts'
import { createPageDocuments, guidesInOne, isGuide } from './documents.ts'
import type { PublishedPage } from './documents.ts'
import { filterStylesDocument } from './filters.ts'
import { createPages } from './index.ts'
import { indexDocuments, introOf } from './indexes.ts'
import { receiptChecksDocument } from './receipt-checks.ts'
import { searchPage } from './search.ts'

/**
 * Returns a function that derives the documents of the site from successive worlds: pages with their Markdown, feeds and
 * indexes. None of them is a route of the API. A document is derived again only if a declared part of the world has
 * changed. `shareImages`: preview images of pages. `answers`: the documents of the API.
 */
export function createSite(): (
  world: World,
  shareImages: readonly PublicDocument[],
  answers: readonly PublicDocument[],
) => readonly PublicDocument[] {
  const pagesOf = createPages()
  const referencePagesOf = createReferencePages()
  const documentsOf = memoizeLatest(createPageDocuments)
  const checks = memoizeByParts(['receiptRun'], receiptChecksDocument)
  const feeds = feedDocuments()
  const tradeFeeds = tradeFeedDocuments()
  const indexesOf = memoizeLatest((listed: readonly SitePage[]) =>
    memoizeByParts(['agentSkills', 'nowMs', 'site'], (world) => [...indexDocuments(listed, world)]),
  )
  const guidesInOneOf = memoizeLatest((joined: readonly PublishedPage[]) =>
    memoizeByParts(['agentSkills', 'site'], (world) => guidesInOne(joined, introOf(world))),
  )
  const withSearch = memoizeLatest((found: readonly SitePage[]) => [...found, searchPage(found)])
  let found: readonly SitePage[] = []
  let guides: readonly PublishedPage[] = []
  return (world, shareImages, answers) => {
    const images = new Set(shareImages.map(({ path }) => path))
    found = sameItems(found, [...pagesOf(world), ...referencePagesOf(world, answers)])
    const pages = withSearch(found)
    const published = pages.map((page) => documentsOf(world.site)(page, images))
    guides = sameItems(guides, published.filter(isGuide))
    return [
      ...published.flatMap(({ documents }) => documents),
      ...shareImages,
      filterStylesDocument(),
      ...checks(world),
      ...feeds(world),
      ...tradeFeeds(world),
      ...indexesOf(pages)(world),
      guidesInOneOf(guides)(world),
    ]
  }
}
