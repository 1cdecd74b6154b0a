/** The seeds of this run: `SIMULATION_SEEDS` of them from `SIMULATION_FIRST` on, or `SIMULATION_SEED`. */
import { z } from 'zod'

const count = z.coerce.number().int().min(1).max(10_000_000)

export const chosen = {
  seeds: count.parse(process.env['SIMULATION_SEEDS'] ?? '2000'),
  /** Fixed by default, so that a new failure comes from a change of the program. */
  first: count.parse(process.env['SIMULATION_FIRST'] ?? '1'),
  one:
    process.env['SIMULATION_SEED'] === undefined
      ? null
      : count.parse(process.env['SIMULATION_SEED']),
} as const

export function seedsOfShard(shard: 0 | 1): readonly number[] {
  const { first, one, seeds } = chosen
  if (one !== null) return []
  return Array.from({ length: seeds }, (_, at) => first + at).filter((seed) => seed % 2 === shard)
}
