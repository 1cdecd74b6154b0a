import type { Opportunity } from '../../src/contract/schemas/opportunity.ts'
import { expectedMicroUsdcPerDay, notNet } from '../../src/core/arbitrage.ts'
import { flagCaveat, isReaderTrouble } from '../../src/core/flags/index.ts'
import { usdcOrNull } from '../../src/core/money.ts'
import { isoTime } from '../../src/core/time.ts'
import type { RailRecord, World } from '../world/world.ts'
import { jsonDocument, snapshotFamily } from './document.ts'
import { isAnyRailKnown, railPaysNow, railView } from './rail-view.ts'

/** `/opportunities`: the rails that pay now, with the highest expected income first and unknown income last. */
export const opportunityDocuments = snapshotFamily(
  ['nowMs', 'openFlags', 'pollEveryMs', 'rails', 'taxonomy'],
  function* (world) {
    const opportunities = opportunitiesOf(world)
    const { length: count } = opportunities
    const facts = opportunities.map(({ polled_at: _at, figures_as_of: _age, ...kept }) => kept)
    const head = { count, unknown_figures: isAnyRailKnown(world) ? [] : ['count' as const] }
    const options = { stamped: true, archive: { ...head, opportunities: facts } }
    yield jsonDocument('listOpportunities', { ...head, opportunities }, options)
  },
)

type OpportunityWorld = Pick<World, 'nowMs' | 'openFlags' | 'pollEveryMs' | 'rails' | 'taxonomy'>

export function opportunitiesOf(world: OpportunityWorld): Opportunity[] {
  return world.rails
    .filter((record) => railPaysNow(record, world))
    .map((record) => opportunityOf(record, world))
    .toSorted((a, b) => {
      const difference = (b.expected_usd_per_day ?? -1) - (a.expected_usd_per_day ?? -1)
      return difference === 0 ? (a.rail < b.rail ? -1 : 1) : difference
    })
}

function opportunityOf(record: RailRecord, world: OpportunityWorld): Opportunity {
  const rail = railView(record, world)
  const perDay = expectedMicroUsdcPerDay(record.state.figures)
  const figures = {
    tpv_7d_usdc: rail.tpv_7d_usdc,
    tpv_30d_usdc: rail.tpv_30d_usdc,
    tpv_30d_net_usdc: rail.tpv_30d_net_usdc,
    unique_workers_30d: rail.unique_workers_30d,
    top_worker_share: rail.top_worker_share,
    worker_usd_per_day_low: rail.worker_usd_per_day_low,
    worker_usd_per_day_median: rail.worker_usd_per_day_median,
    worker_usd_per_day_high: rail.worker_usd_per_day_high,
  }
  return {
    ...figures,
    rail: rail.rail,
    display_name: rail.display_name,
    chain: rail.chain,
    status: rail.status,
    apply_url: rail.sample_apply_url ?? rail.reference_url,
    entry_cost_usdc: rail.entry_cost_usdc,
    entry_requirements: rail.entry_requirements,
    unknown_figures: rail.unknown_figures.filter((name) => name in figures),
    evidence_tier: rail.evidence_tier,
    skills: world.taxonomy.skills
      .filter(({ surface }) => surface.includes(rail.rail))
      .map(({ slug }) => slug),
    ...(rail.last_payout_at === undefined ? {} : { last_payout_at: rail.last_payout_at }),
    expected_usd_per_day: usdcOrNull(perDay),
    caveats: caveatsOf(record, rail.stale, world),
    listed_at: isoTime(record.state.statusSinceMs),
    polled_at: rail.polled_at,
    figures_as_of: rail.figures_as_of,
    stale: rail.stale,
  }
}

function caveatsOf(
  { authored, state, rule }: RailRecord,
  stale: boolean,
  world: Pick<World, 'openFlags'>,
): string[] {
  const caveats: string[] = []
  if (state.figuresSource === 'audit') {
    const reason =
      rule === null ? 'The rail is audited by hand and not polled' : 'No poll has succeeded yet'
    caveats.push(`${reason}; status and figures come from the audit of ${authored.audit.as_of}.`)
  }
  if (stale) caveats.push('No successful poll in the last two cycles.')
  else if (state.lastError !== null) caveats.push('The last poll failed; figures are carried over.')
  if (expectedMicroUsdcPerDay(state.figures) === null) {
    caveats.push('Expected income is unknown, because volume, workers or top share is unknown.')
  }
  const returned = notNet(state.figures)
  if (returned !== null) caveats.push(returned)
  return [
    ...caveats,
    ...world.openFlags
      .filter((flag) => flag.rail === authored.rail && !isReaderTrouble(flag))
      .map(flagCaveat),
  ]
}
