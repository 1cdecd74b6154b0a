import { toUsdc } from '../../src/core/money.ts'
/** The pages that have a picture to be shared by, and the drawing of each. */
import { ogCard } from '../../src/core/og-card.ts'
import { articleCard, homeCard, railCard } from '../../src/core/page-cards.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { statsOf } from '../snapshots/stats.ts'
import type { PollRecord, World } from '../world.ts'
import { articlePath } from './desk.ts'
import { shareImage } from './page.ts'
import { railPath, shownRails } from './rail-parts.ts'

export interface SharedPage {
  /** Path of its picture. */
  readonly image: string
  readonly svg: string
}

export function* sharedPages(world: World): Generator<SharedPage> {
  const rails = shownRails(world).map(({ view }) => view)
  yield shared('/', ogCard(homeCard(statsOf(world), rails)))
  for (const rail of rails) {
    const polls = newestMonth(world.history.get(rail.rail) ?? []).map(({ polledAtMs, figures }) => {
      const volume = figures?.tpv30dMicroUsdc ?? null
      return {
        polled_at: isoTime(polledAtMs),
        tpv_30d_usdc: volume === null ? null : toUsdc(volume),
      }
    })
    yield shared(railPath(rail.rail), ogCard(railCard(rail, polls)))
  }
  for (const article of world.articles) {
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
