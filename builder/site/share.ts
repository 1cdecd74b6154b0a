/** The pages with a preview image, and the drawing of each. */
import { toUsdc } from '../../src/core/money.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { ogCard } from '../../src/pages/og-card.ts'
import { articleCard, homeCard, railCard } from '../../src/pages/page-cards.ts'
import { shareImage } from '../../src/pages/page.ts'
import { railPath } from '../../src/pages/paths.ts'
import { statsOf, statsParts } from '../documents/stats.ts'
import type { StatsWorld } from '../documents/stats.ts'
import type { Drawing } from '../publish/share-images.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { PollRecord, World } from '../world/world.ts'
import { articlePath } from './desk.ts'
import { shownRails } from './rail-parts.ts'

/** Returns a function for successive worlds that draws a card again only if a part of the world it shows has changed. */
export function createSharedPages(): (world: World) => readonly Drawing[] {
  const home = memoizeByParts(statsParts, (world) => [...homeShared(world)])
  const rails = memoizeByParts(['history', 'nowMs', 'pollEveryMs', 'rails'], (world) => [
    ...railsShared(world),
  ])
  const articles = memoizeByParts(['articles'], (world) => [...articlesShared(world)])
  return (world) => [...home(world), ...rails(world), ...articles(world)]
}

function* homeShared(world: StatsWorld): Generator<Drawing> {
  const rails = shownRails(world).map(({ view }) => view)
  yield shared('/', ogCard(homeCard(statsOf(world), rails)))
}

function* railsShared(
  world: Pick<World, 'history' | 'nowMs' | 'pollEveryMs' | 'rails'>,
): Generator<Drawing> {
  for (const { view: rail } of shownRails(world)) {
    const polls = newestMonth(world.history.get(rail.rail) ?? []).map(({ polledAtMs, figures }) => {
      const volume = figures?.tpv30dMicroUsdc ?? null
      return {
        polled_at: isoTime(polledAtMs),
        tpv_30d_usdc: volume === null ? null : toUsdc(volume),
      }
    })
    yield shared(railPath(rail.rail), ogCard(railCard(rail, polls)))
  }
}

function* articlesShared({ articles }: Pick<World, 'articles'>): Generator<Drawing> {
  for (const article of articles) {
    yield shared(articlePath(article.slug), ogCard(articleCard(article)))
  }
}

/** Returns the polls that a card draws, and one day more. `polls` are newest first. */
function newestMonth(polls: readonly PollRecord[]): readonly PollRecord[] {
  const fromMs = (polls[0]?.polledAtMs ?? 0) - 31 * dayMs
  const older = polls.findIndex(({ polledAtMs }) => polledAtMs < fromMs)
  return older === -1 ? polls : polls.slice(0, older)
}

function shared(page: string, svg: string): Drawing {
  return { image: shareImage(page), svg }
}
