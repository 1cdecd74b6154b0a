import { groupBy } from '../../src/core/group-by.ts'
import { isoDate } from '../../src/core/time.ts'
import { weeklySlugPrefix } from '../world/articles.ts'
import type { ArticleSource } from '../world/articles.ts'
import type { LedgerEvent, World } from '../world/world.ts'
import { isoWeekOf, weekMs, weekStartOf } from './iso-week.ts'
import { railWeeksOf } from './rail-week.ts'
import type { RailWeek } from './rail-week.ts'
import { weeklyText } from './weekly-text.ts'

export interface WeeklyInput extends Pick<World, 'events' | 'history' | 'nowMs' | 'rails'> {
  readonly siteUrl: string
}

/** Number of weeks with an article. `history` and `events` must reach back one week further. */
const weeksKept = 52

/** Each article depends only on its week and the week before, so it is the same in every build. */
export function weeklyArticles(input: WeeklyInput): ArticleSource[] {
  const { nowMs, rails, history, events, siteUrl } = input
  const eventsByWeek = groupBy(events, ({ createdAtMs }) => weekStartOf(createdAtMs))
  const railWeeks = rails.flatMap((record) =>
    railWeeksOf(record, history.get(record.authored.rail) ?? []),
  )
  const fromMs = nowMs - weeksKept * weekMs
  return [...groupBy(railWeeks, ({ weekStartMs }) => weekStartMs)]
    .filter(([startMs]) => startMs >= fromMs && startMs + weekMs <= nowMs)
    .toSorted(([a], [b]) => a - b)
    .map(([startMs, ofWeek]) =>
      articleOf(startMs, ofWeek, eventsByWeek.get(startMs) ?? [], siteUrl),
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
