/** Runs the seeds of one of two shards, for two cores. */
import { expect } from 'vitest'
import { z } from 'zod'

import { prepareInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { countersOf } from './random.ts'
import { counted } from './run.ts'
import { simulate } from './simulation.ts'

const count = z.coerce.number().int().min(1).max(10_000_000)
const { SIMULATION_SEED, SIMULATION_SEEDS = '2000', SIMULATION_FIRST = '1' } = process.env

/** `SIMULATION_SEEDS` seeds from `SIMULATION_FIRST` on, or `SIMULATION_SEED`. */
export const chosen = {
  seeds: count.parse(SIMULATION_SEEDS),
  /** Fixed by default, so that a new failure comes from a change of the program. */
  first: count.parse(SIMULATION_FIRST),
  one: SIMULATION_SEED === undefined ? null : count.parse(SIMULATION_SEED),
} as const

const shownLines = 400
const enoughSeeds = 200

/** Loads modules that are loaded at first use, so that no history depends on it. */
export async function warmUp(installation: Installation): Promise<void> {
  for (let seed = 1; seed <= 5; seed += 1) await simulate(seed, planOf(seed), installation)
}

/** @throws Error at the first failure, with the history of its run and the command that repeats it */
export async function runShard(shard: 0 | 1): Promise<void> {
  const { seeds, first, one } = chosen
  const installation = await prepareInstallation()
  const totals = countersOf(['seeds', ...counted])
  const startedMs = performance.now()
  try {
    await warmUp(installation)
    const all = Array.from({ length: one === null ? seeds : 0 }, (_, at) => first + at)
    for (const seed of all.filter((each) => each % 2 === shard)) {
      const { problem, lines, tally } = await simulate(seed, planOf(seed), installation)
      totals.seeds += 1
      for (const name of counted) totals[name] += tally[name]
      if (problem === null) continue
      const history = lines.slice(-shownLines).map((line) => line.slice(0, 240))
      const command = `SIMULATION_SEED=${seed} npm run test:simulation`
      throw new Error([`Seed ${seed}: ${problem}`, ...history, `Again: ${command}`].join('\n'))
    }
  } finally {
    installation.remove()
  }
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  const counts = Object.entries(totals).map(([name, total]) => `${total} ${name}`)
  process.stdout.write(`simulation, shard ${shard}: ${counts.join(', ')} in ${seconds} s\n`)
  if (totals.seeds < enoughSeeds) return
  // A suite without events proves nothing.
  for (const [name, total] of Object.entries(totals))
    expect(total, name).toBeGreaterThan(totals.seeds / 50)
}
