import type { Rail } from '../../src/contract/schemas/rail.ts'
import { figureNames } from '../../src/core/figures.ts'
import { csv } from './csv.ts'
import { jsonDocument, snapshotFamily, textDocument } from './document.ts'
import { railView } from './rail-view.ts'

export const railDocuments = snapshotFamily(
  ['listRails', 'getRailsCsv', 'getRail'],
  ['nowMs', 'pollEveryMs', 'rails'],
  function* (world) {
    const rails = world.rails.map((record) => railView(record, world))
    yield jsonDocument(
      'listRails',
      { count: rails.length, rails },
      { archive: { count: rails.length, rails: rails.map(facts) } },
    )
    yield textDocument('getRailsCsv', railsCsv(rails))
    for (const rail of rails) {
      yield jsonDocument('getRail', rail, { params: { name: rail.rail }, archive: facts(rail) })
    }
  },
)

/** Excludes times, durations and hashes of responses, which change at every poll. */
function facts(rail: Rail): object {
  const {
    polled_at: _at,
    poll_duration_ms: _ms,
    figures_as_of: _age,
    evidence: _read,
    ...kept
  } = rail
  return kept
}

const csvColumns = [
  'rail',
  'display_name',
  'chain',
  'category',
  'status',
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
  const unknown = (rail: Rail, column: string) =>
    rail.unknown_figures.some((figure) => figure === column)
  return csv(
    csvColumns,
    rails.map((rail) => csvColumns.map((column) => (unknown(rail, column) ? null : rail[column]))),
  )
}
