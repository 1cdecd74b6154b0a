import { apply } from '../../actions/apply.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import type { AnswerOf } from '../../contract/route-types.ts'
import type { Flag } from '../../contract/schemas/flag.ts'
import type { Rail } from '../../contract/schemas/rail.ts'
import { arbitrageCaveats, confidenceRule, rankRails } from '../../core/arbitrage.ts'
import { knownFigure } from '../../core/figures.ts'
import { isReaderTrouble } from '../../core/flags/index.ts'
import { microPerUsdc, usdcOrNull } from '../../core/money.ts'
import type { Handlers } from '../handler-types.ts'
import { oncePerSet } from '../published-documents.ts'
import type { PublishedDocuments } from '../published-documents.ts'

export function marketHandlers(deps: ActionDeps, published: PublishedDocuments) {
  const ranking = oncePerSet(published, ({ computed_at: computedAt }) =>
    arbitrageOf(
      published.read('listRails').rails,
      published.read('listHonestyFlags').flags,
      computedAt,
    ),
  )
  return {
    applyToRail: ({ body }, context) => apply(deps, { ...context, body }),
    getArbitrage: () => Promise.resolve({ body: ranking() }),
  } satisfies Partial<Handlers>
}

function arbitrageOf(
  rails: readonly Rail[],
  flags: readonly Flag[],
  computedAt: string,
): AnswerOf<'getArbitrage'> {
  const earning = rails.filter(({ category }) => category === 'earning')
  const ranking = rankRails(earning.map((rail) => inputOf(rail, flags))).map((row) => ({
    rail: row.rail,
    display_name: row.display_name,
    status: row.status,
    expected_usd_per_day_per_creator: usdcOrNull(row.perCreatorMicroUsdc),
    expected_usd_per_day_per_worker: usdcOrNull(row.perWorkerMicroUsdc),
    entry_cost_usdc: row.entry_cost_usdc,
    breakeven_days: row.breakevenDays,
    confidence: row.confidence,
    caveats: [...row.caveats],
    figures_as_of: row.figures_as_of,
  }))
  return {
    count: ranking.length,
    ranking,
    caveats: [...arbitrageCaveats],
    confidence_rule: confidenceRule,
    computed_at: computedAt,
  }
}

function inputOf(rail: Rail, flags: readonly Flag[]) {
  const volume = (name: 'tpv_30d_usdc' | 'tpv_30d_net_usdc') => {
    const usdc = knownFigure(rail, name)
    return usdc === null ? null : Math.round(usdc * microPerUsdc)
  }
  return {
    ...rail,
    figures: {
      tpv30dMicroUsdc: volume('tpv_30d_usdc'),
      tpv30dNetMicroUsdc: volume('tpv_30d_net_usdc'),
      uniqueCreators30d: knownFigure(rail, 'unique_creators_30d'),
      uniqueWorkers30d: knownFigure(rail, 'unique_workers_30d'),
      topWorkerShare: knownFigure(rail, 'top_worker_share'),
    },
    entryCostMicroUsdc: Math.round(rail.entry_cost_usdc * microPerUsdc),
    evidenceTier: rail.evidence_tier,
    figuresSource: rail.figures_source,
    pollFailed: rail.poll_error !== undefined,
    flags: flags.filter((flag) => flag.rail === rail.rail && !isReaderTrouble(flag)),
  }
}
