/** The pages that have a picture to be shared by, and the drawing of each. */
import { toUsdc } from '../../src/core/money.ts'
import { ogCard } from '../../src/core/og-card.ts'
import { articleCard, homeCard, railCard } from '../../src/core/page-cards.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { shareImage } from '../../src/pages/page.ts'
import { railPath } from '../../src/pages/paths.ts'
import { memoizeByReads } from '../cache/memoize.ts'
import { statsOf } from '../documents/stats.ts'
import type { PollRecord, World } from '../world/world.ts'
import { articlePath } from './desk.ts'
import { shownRails } from './rail-parts.ts'

export interface SharedPage {
  /** Path of its picture. */
  readonly image: string
  readonly svg: string
}

export function sharedPages(world: World): readonly SharedPage[] {
  return createSharedPages()(world)
}

/** The same for one world after the other: drawn again is what reads a part that is another. */
export function createSharedPages(): (world: World) => readonly SharedPage[] {
  const kinds = [homeShared, railsShared, articlesShared].map((kind) =>
    memoizeByReads((world: World) => [...kind(world)]),
  )
  return (world) => kinds.flatMap((kind) => kind(world))
}

function* homeShared(world: World): Generator<SharedPage> {
  const rails = shownRails(world).map(({ view }) => view)
  yield shared('/', ogCard(homeCard(statsOf(world), rails)))
}

function* railsShared(world: World): Generator<SharedPage> {
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

function* articlesShared({ articles }: World): Generator<SharedPage> {
  for (const article of articles) {
    yield shared(articlePath(article.slug), ogCard(articleCard(article)))
  }
}

/** What the card draws, with a day to spare; polls come newest first. */
function newestMonth(polls: readonly PollRecord[]): readonly PollRecord[] {
  const fromMs = (polls[0]?.polledAtMs ?? 0) - 31 * dayMs
  const older = polls.findIndex(({ polledAtMs }) => polledAtMs < fromMs)
  return older === -1 ? polls : polls.slice(0, older)
}

function shared(page: string, svg: string): SharedPage {
  return { image: shareImage(page), svg }
}
