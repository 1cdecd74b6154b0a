import { isDeepStrictEqual } from 'node:util'

import { groupBy } from '../../src/core/group-by.ts'
import { isoDate } from '../../src/core/time.ts'
import { weeklySlugPrefix } from '../world/articles.ts'
import type { ArticleSource } from '../world/articles.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { LedgerEvent, World } from '../world/world.ts'
import { isoWeekOf, railWeeksOf, weekMs, weekStartOf } from './rail-week.ts'
import type { RailWeek } from './rail-week.ts'
import { weeklyText } from './weekly-text.ts'

/** Number of weeks with an article. `history` and `events` must reach back one week further. */
const weeksKept = 52

/** Adds the weekly articles. An unchanged list stays the same object from build to build. */
export function createArticles(): (world: World) => World {
  const all = memoizeByParts(
    ['nowMs', 'rails', 'history', 'events', 'site', 'articles'],
    (world) => [...world.articles, ...weeklyArticles(world)],
  )
  let last: World['articles'] = []
  return (world) => {
    const articles = all(world)
    if (!isDeepStrictEqual(last, articles)) last = articles
    return { ...world, articles: last }
  }
}

/** Each article depends only on its week and the week before, so it is the same in every build. */
export function weeklyArticles(
  world: Pick<World, 'events' | 'history' | 'nowMs' | 'rails' | 'site'>,
): ArticleSource[] {
  const { nowMs, rails, history, events, site } = world
  const eventsByWeek = groupBy(events, ({ createdAtMs }) => weekStartOf(createdAtMs))
  const railWeeks = rails.flatMap((record) =>
    railWeeksOf(record, history.get(record.authored.rail) ?? []),
  )
  const fromMs = nowMs - weeksKept * weekMs
  return [...groupBy(railWeeks, ({ weekStartMs }) => weekStartMs)]
    .filter(([startMs]) => startMs >= fromMs && startMs + weekMs <= nowMs)
    .toSorted(([a], [b]) => a - b)
    .map(([startMs, ofWeek]) =>
      articleOf(startMs, ofWeek, eventsByWeek.get(startMs) ?? [], site.url),
    )
}

function articleOf(
  weekStartMs: number,
  rails: readonly RailWeek[],
  events: readonly LedgerEvent[],
  siteUrl: string,
): ArticleSource {
  const { year, week } = isoWeekOf(weekStartMs)
  const name = `${year}-w${String(week).padStart(2, '0')}`
  const slug = `${weeklySlugPrefix}${name}`
  const { title, excerpt, keywords, body, chart } = weeklyText({
    weekStartMs,
    week: `week ${week} of ${year}`,
    chartUrl: `${siteUrl}/desk/${slug}.svg`,
    siteUrl,
    rails: rails.toSorted((a, b) => (a.authored.rail < b.authored.rail ? -1 : 1)),
    events,
  })
  return {
    slug,
    title,
    date: isoDate(weekStartMs + weekMs),
    excerpt,
    keywords: ['weekly', name, ...keywords],
    body,
    charts: chart === null ? [] : [{ name: slug, svg: chart }],
  }
}
