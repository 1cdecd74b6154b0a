import type { Rail } from '../../src/contract/schemas/rail.ts'
import { csv } from '../../src/core/csv.ts'
import { figureNames } from '../../src/core/figures.ts'
import { railBadge } from '../../src/pages/badge.ts'
import type { PollRecord } from '../world/world.ts'
import { disputesOfRail } from './disputes.ts'
import { jsonDocument, snapshotFamily, textDocument } from './document.ts'
import { evidenceUri, railView } from './rail-view.ts'

export const railDocuments = snapshotFamily(
  ['disputes', 'history', 'nowMs', 'pollEveryMs', 'rails'],
  function* (world) {
    const goodPolls = (rail: string) =>
      (world.history.get(rail) ?? []).filter(({ outcome }) => outcome === 'ok')
    const rails = world.rails.map((record) => {
      const { rail } = record.authored
      const disputes = disputesOfRail(rail, world).map(({ dispute_id: id, state, standing }) => ({
        id,
        state,
        standing,
      }))
      return {
        ...railView(record, world),
        ...evidenceUri(goodPolls(rail)[0]),
        ...(disputes.length === 0 ? {} : { disputes }),
      }
    })
    const factsOf = (rail: Rail) => facts(rail, goodPolls(rail.rail))
    yield jsonDocument(
      'listRails',
      { count: rails.length, rails },
      { archive: { count: rails.length, rails: rails.map(factsOf) } },
    )
    yield textDocument('getRailsCsv', railsCsv(rails))
    for (const rail of rails) {
      const params = { name: rail.rail }
      yield jsonDocument('getRail', rail, { params, archive: factsOf(rail) })
      yield textDocument('getRailBadge', railBadge(rail, world.nowMs), { params })
    }
  },
)

/** Excludes what changes at every poll, and links the evidence of the first poll that gave these figures. */
function facts(rail: Rail, good: readonly PollRecord[]): object {
  const {
    polled_at: _at,
    poll_duration_ms: _ms,
    figures_as_of: _age,
    evidence: _read,
    evidence_uri: _newest,
    ...kept
  } = rail
  const newest = JSON.stringify(good[0]?.figures)
  const other = good.findIndex(({ figures }) => JSON.stringify(figures) !== newest)
  return { ...kept, ...evidenceUri(good.at(other === -1 ? -1 : other - 1)) }
}

const csvColumns = [
  'rail',
  'display_name',
  'chain',
  'category',
  'status',
  'judged',
  'status_since',
  ...figureNames,
  'last_payout_at',
  'entry_cost_usdc',
  'figures_source',
  'figures_as_of',
  'stale',
  'rule',
  'polled_at',
  'poll_error',
  'reference_url',
] as const satisfies readonly (keyof Rail)[]

function railsCsv(rails: readonly Rail[]): string {
  const rows = rails.map((rail) => {
    const unknown = rail.unknown_figures.map((figure) => [figure, null] as const)
    return { ...rail, ...Object.fromEntries(unknown) }
  })
  return csv(csvColumns, rows)
}
