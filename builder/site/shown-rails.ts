import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Opportunity } from '../../src/contract/schemas/opportunity.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { jobExchange } from '../../src/core/job.ts'
import { doubtsOf, trustRank } from '../../src/pages/rail-parts.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import { railView } from '../documents/rail-view.ts'
import type { RailRecord, World } from '../world/world.ts'

/** A rail with its public view, shared by all pages of a build. */
export interface ShownRail {
  readonly record: RailRecord
  readonly view: Rail
}

/** The job exchange of the ledger moves no money, so no source shows its payouts. */
export const isOwn = ({ view }: ShownRail): boolean => view.rail === jobExchange.rail

export const railParts = ['nowMs', 'pollEveryMs', 'rails'] as const

export function shownRails(world: Pick<World, (typeof railParts)[number]>): ShownRail[] {
  return world.rails.map((record) => ({ record, view: railView(record, world) }))
}

export interface ListedRail extends ShownRail {
  /** Gravest first. */
  readonly doubts: readonly Flag[]
  readonly rank: ReturnType<typeof trustRank>
  /** Undefined if the rail does not pay now. */
  readonly offer: Opportunity | undefined
}

export const listedParts = ['openFlags', 'taxonomy', ...railParts] as const

export function listedRails(world: Pick<World, (typeof listedParts)[number]>): ListedRail[] {
  const byRail = groupBy(doubtsOf(world.openFlags), ({ rail }) => rail)
  const offers = new Map(opportunitiesOf(world).map((offer) => [offer.rail, offer]))
  return shownRails(world).map((shown) => {
    const { view } = shown
    const doubts = byRail.get(view.rail) ?? []
    return { ...shown, doubts, rank: trustRank(view, doubts), offer: offers.get(view.rail) }
  })
}
