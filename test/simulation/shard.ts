/** Runs the seeds of one of two shards, for two cores. */
import { expect } from 'vitest'

import { prepareInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { countersOf } from './random.ts'
import { counted } from './run.ts'
import type { Counted, RunResult } from './run.ts'
import { chosen, seedsOfShard } from './seeds.ts'
import { simulate } from './simulation.ts'

const shownLines = 400

type Totals = Record<Counted | 'seeds', number>

/** Loads modules that are loaded at first use, so that no history depends on it. */
export async function warmUp(installation: Installation): Promise<void> {
  for (let seed = 1; seed <= 5; seed += 1) await simulate(seed, planOf(seed), installation)
}

/** The history of a failing seed, and the command that repeats it. */
function report(seed: number, { problem, lines }: RunResult): string {
  return [
    `Seed ${seed}: ${problem ?? ''}`,
    ...lines.slice(-shownLines).map((line) => line.slice(0, 240)),
    `Run this seed again: SIMULATION_SEED=${seed} npm run test:simulation`,
  ].join('\n')
}

/** @throws Error at the first failure, with the history of its run */
export async function runShard(shard: 0 | 1): Promise<Totals> {
  const installation = await prepareInstallation()
  const totals: Totals = countersOf(['seeds', ...counted])
  try {
    await warmUp(installation)
    const startedMs = performance.now()
    const before = process.cpuUsage()
    for (const seed of seedsOfShard(shard)) {
      const result = await simulate(seed, planOf(seed), installation)
      totals.seeds += 1
      for (const name of counted) totals[name] += result.tally[name]
      if (result.problem !== null) throw new Error(report(seed, result))
    }
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    const { user, system } = process.cpuUsage(before)
    const busy = Math.round((user + system) / 1e6)
    const counts = Object.entries(totals).map(([name, count]) => `${count} ${name}`)
    process.stdout.write(
      `simulation, shard ${shard}, SIMULATION_FIRST=${chosen.first}: ${counts.join(', ')} in ${seconds} s (${busy} s of CPU time)\n`,
    )
    return totals
  } finally {
    installation.remove()
  }
}

const enoughSeeds = 200

/** Every kind of event must have occurred: a suite without events proves nothing. */
export function expectCoverage(totals: Totals): void {
  const { seeds, taken, accepted, disputed, expired, bought, delivered } = totals
  const silent = totals['accepted by silence']
  expect(seeds === 0 || taken > 0).toBe(true)
  if (seeds < enoughSeeds) return
  const emails = totals['claimed by e-mail']
  const { faults, restarts, restores, builds, repeats } = totals
  const worked = { emails, accepted, silent, disputed, expired, bought, delivered, repeats }
  const came = { ...worked, faults, restarts, restores, builds }
  for (const [end, count] of Object.entries(came)) expect(count, end).toBeGreaterThan(seeds / 50)
}
