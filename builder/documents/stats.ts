import type { Stats } from '../../src/contract/schemas/stats.ts'
import { publicFigure } from '../../src/core/figures.ts'
import type { CountedFigure, FigureName } from '../../src/core/figures.ts'
import { toUsdc } from '../../src/core/money.ts'
import type { World } from '../world/world.ts'
import { jsonDocument, snapshotFamily } from './document.ts'
import { isAnyRailKnown, isJudgedNow, railIsStale, railPaysNow } from './rail-view.ts'

export const statsParts = [
  'community',
  'exchange',
  'nowMs',
  'openFlags',
  'pacts',
  'pollEveryMs',
  'rails',
] as const satisfies readonly (keyof World)[]
type StatsWorld = Pick<World, (typeof statsParts)[number]>

/** Both routes publish the same totals and differ only in max-age. */
export const statsDocuments = snapshotFamily(statsParts, function* (world) {
  const stats = statsOf(world)
  yield jsonDocument('getStatsLive', stats, { stamped: true })
  yield jsonDocument('getStatsDaily', stats, { stamped: true })
})

/** The part that only the rails decide. */
export function railStatsOf(world: Pick<World, 'nowMs' | 'pollEveryMs' | 'rails'>) {
  const { rails } = world
  const earning = rails.filter(({ authored }) => authored.category === 'earning')
  // Totals exclude audited and stale figures.
  const current = earning.filter(
    (record) => record.state.figuresSource === 'poll' && !railIsStale(record, world),
  )
  const known = current.filter(({ state }) => state.figures.tpv30dMicroUsdc !== null)
  const isUnknown = (name: FigureName) =>
    current.every(({ state }) => publicFigure(state.figures, name) === null)
  const total = (figure: CountedFigure) =>
    toUsdc(current.reduce((sum, { state }) => sum + (state.figures[figure] ?? 0), 0))
  return {
    tpv_30d_usdc: total('tpv30dMicroUsdc'),
    tpv_7d_usdc: total('tpv7dMicroUsdc'),
    unknown_figures: [
      ...(['tpv_30d_usdc', 'tpv_7d_usdc'] as const).filter(isUnknown),
      ...(isAnyRailKnown(world) ? [] : (['rails_paying', 'opportunities'] as const)),
    ],
    rails_total: rails.length,
    rails_judged: rails.filter((record) => isJudgedNow(record, world)).length,
    rails_paying: rails.filter((record) => railPaysNow(record, world)).length,
    rails_stale: rails.filter((record) => railIsStale(record, world)).length,
    rails_unknown_tpv: earning.length - known.length,
  }
}

export function statsOf(world: StatsWorld): Omit<Stats, 'computed_at'> {
  const { community, exchange } = world
  const rails = railStatsOf(world)
  return {
    ...rails,
    workers_total: community.workersTotal,
    partners_total: community.partnersTotal,
    receipts_total: community.receiptsTotal,
    receipts_verified: community.receiptsVerified,
    jobs_total: exchange.total,
    jobs_open: exchange.open,
    pacts_settled: world.pacts.settled.length,
    pacts_in_flight: world.pacts.inFlight.length,
    open_flags: world.openFlags.length,
    opportunities: rails.rails_paying,
  }
}
