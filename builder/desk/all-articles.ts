import { isDeepStrictEqual } from 'node:util'

import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { World } from '../world/world.ts'
import { weeklyArticles } from './weekly.ts'

/** Adds the weekly articles. An unchanged list stays the same object from build to build. */
export function createArticles(): (world: World) => World {
  const all = memoizeByParts(
    ['nowMs', 'rails', 'history', 'events', 'site', 'articles'],
    ({ nowMs, rails, history, events, site, articles }) => [
      ...articles,
      ...weeklyArticles({ nowMs, rails, history, events, siteUrl: site.url }),
    ],
  )
  let last: World['articles'] = []
  return (world) => {
    const articles = all(world)
    if (!isDeepStrictEqual(last, articles)) last = articles
    return { ...world, articles: last }
  }
}
