/** The ranking of rails, and applications to them. */
import type { z } from 'zod'

import { apply } from '../../actions/apply.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { ApiError } from '../../contract/errors.ts'
import { applyBody } from '../../contract/schemas/application.ts'
import type { arbitrage } from '../../contract/schemas/arbitrage.ts'
import { flagList } from '../../contract/schemas/flag.ts'
import type { Flag } from '../../contract/schemas/flag.ts'
import { railList } from '../../contract/schemas/rail.ts'
import type { FigureName, Rail } from '../../contract/schemas/rail.ts'
import { arbitrageCaveats, confidenceRule, rankRails } from '../../core/arbitrage.ts'
import type { ArbitrageRail } from '../../core/arbitrage.ts'
import { microPerUsdc, toUsdc } from '../../core/money.ts'
import { nothingServed } from '../document-store.ts'
import type { DocumentStore } from '../document-store.ts'
import { read, write } from '../handlers.ts'
import { readPublished } from '../live.ts'
import { partnerWrite } from '../partner-write.ts'

type PublishedDocuments = Pick<DocumentStore, 'get' | 'state'>

export function marketHandlers(deps: ActionDeps, store: PublishedDocuments) {
  const ranking = createArbitrage(store)
  return {
    applyToRail: write(applyBody, async (sent) =>
      apply(deps, { ...(await partnerWrite(sent)), body: sent.body }),
    ),
    getArbitrage: read(() => Promise.resolve({ body: ranking() })),
  }
}

/** The ranking of the published set, made once per set. */
function createArbitrage(store: PublishedDocuments): () => z.infer<typeof arbitrage> {
  let made: { readonly set: string; readonly body: z.infer<typeof arbitrage> } | null = null
  return () => {
    const { manifest } = store.state()
    if (manifest === null) throw new ApiError('unavailable', nothingServed(store))
    if (made?.set !== manifest.set_sha256) {
      const { rails } = readPublished(store, 'listRails', railList)
      const { flags } = readPublished(store, 'listHonestyFlags', flagList)
      made = {
        set: manifest.set_sha256,
        body: arbitrageOf(rails, flags, manifest.computed_at),
      }
    }
    return made.body
  }
}

function arbitrageOf(
  rails: readonly Rail[],
  flags: readonly Flag[],
  computedAt: string,
): z.infer<typeof arbitrage> {
  const earning = new Map(
    rails.filter(({ category }) => category === 'earning').map((rail) => [rail.rail, rail]),
  )
  const ranked = rankRails([...earning.values()].map((rail) => inputOf(rail, flags)))
  const ranking = ranked.flatMap((row) => {
    const rail = earning.get(row.rail)
    if (rail === undefined) return []
    return [
      {
        rail: row.rail,
        display_name: rail.display_name,
        status: rail.status,
        expected_usd_per_day_per_creator: usdcOrNull(row.perCreatorMicroUsdc),
        expected_usd_per_day_per_worker: usdcOrNull(row.perWorkerMicroUsdc),
        entry_cost_usdc: rail.entry_cost_usdc,
        breakeven_days: row.breakevenDays,
        confidence: row.confidence,
        caveats: [...row.caveats],
        figures_as_of: rail.figures_as_of,
      },
    ]
  })
  return {
    count: ranking.length,
    ranking,
    caveats: [...arbitrageCaveats],
    confidence_rule: confidenceRule,
    computed_at: computedAt,
  }
}

function usdcOrNull(microUsdc: number | null): number | null {
  return microUsdc === null ? null : toUsdc(microUsdc)
}

/** Flags that say what `stale` and `poll_error` say already would count twice. */
const countedAlready: readonly string[] = ['poll_failed', 'stale_figures']

function inputOf(rail: Rail, flags: readonly Flag[]): ArbitrageRail {
  const known = (name: FigureName) => (rail.unknown_figures.includes(name) ? null : rail[name])
  const volumeUsdc = known('tpv_30d_usdc')
  return {
    rail: rail.rail,
    status: rail.status,
    figures: {
      tpv30dMicroUsdc: volumeUsdc === null ? null : Math.round(volumeUsdc * microPerUsdc),
      uniqueCreators30d: known('unique_creators_30d'),
      uniqueWorkers30d: known('unique_workers_30d'),
      topWorkerShare: known('top_worker_share'),
    },
    entryCostMicroUsdc: Math.round(rail.entry_cost_usdc * microPerUsdc),
    evidenceTier: rail.evidence_tier,
    figuresSource: rail.figures_source,
    stale: rail.stale,
    pollFailed: rail.poll_error !== undefined,
    flags: flags.filter((flag) => flag.rail === rail.rail && !countedAlready.includes(flag.kind)),
  }
}
