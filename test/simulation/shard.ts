import { expect } from 'vitest'

import { prepareInstallation } from './installation.ts'
import { runSeeds, warmUp } from './runs.ts'
import type { Totals } from './runs.ts'
import { chosen, seedsOfShard } from './seeds.ts'

/** Runs and reports the seeds of one of two shards, for two cores. */
export async function runShard(shard: 0 | 1): Promise<Totals> {
  const installation = await prepareInstallation()
  try {
    await warmUp(installation)
    const startedMs = performance.now()
    const before = process.cpuUsage()
    const totals = await runSeeds(seedsOfShard(shard), installation)
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
