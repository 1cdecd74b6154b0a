/** The pages with a preview image, and the drawing of each. */
import { usdcOrNull } from '../../src/core/money.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { ogCard } from '../../src/pages/og-card.ts'
import type { Card } from '../../src/pages/og-card.ts'
import { articleCard, homeCard, railCard } from '../../src/pages/page-cards.ts'
import { shareImage } from '../../src/pages/page.ts'
import { articlePath, railPath } from '../../src/pages/paths.ts'
import { statsOf, statsParts } from '../documents/stats.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { PollRecord, World } from '../world/world.ts'
import type { Drawing } from './share-images.ts'
import { shownRails } from './shown-rails.ts'

/** Returns a function for successive worlds that draws a card again only if a part of the world it shows has changed. */
export function createSharedPages(): (world: World) => readonly Drawing[] {
  const home = memoizeByParts(statsParts, (world) => {
    const rails = shownRails(world).map(({ view }) => view)
    return [shared('/', homeCard(statsOf(world), rails))]
  })
  const rails = memoizeByParts(['history', 'nowMs', 'pollEveryMs', 'rails'], (world) =>
    shownRails(world).map(({ view }) =>
      shared(railPath(view.rail), railCard(view, newestMonth(world.history.get(view.rail) ?? []))),
    ),
  )
  const articles = memoizeByParts(['articles'], (world) =>
    world.articles.map((article) => shared(articlePath(article.slug), articleCard(article))),
  )
  return (world) => [...home(world), ...rails(world), ...articles(world)]
}

/** Returns the polls that a card draws, and those of the month before, which its line may begin with. `polls` are newest first. */
function newestMonth(polls: readonly PollRecord[]): Parameters<typeof railCard>[1] {
  const fromMs = (polls[0]?.polledAtMs ?? 0) - 60 * dayMs
  return polls
    .filter(({ polledAtMs }) => polledAtMs >= fromMs)
    .map(({ polledAtMs, outcome, figures }) => ({
      outcome,
      polled_at: isoTime(polledAtMs),
      tpv_30d_usdc: usdcOrNull(figures?.tpv30dMicroUsdc ?? null),
    }))
}

function shared(page: string, card: Card): Drawing {
  return { image: shareImage(page), svg: ogCard(card) }
}
