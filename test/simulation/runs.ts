/** Runs seeds. */
import type { Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { countersOf } from './random.ts'
import { counted } from './run.ts'
import type { Counted, RunResult } from './run.ts'
import { simulate } from './simulation.ts'

const shownLines = 400

export type Totals = Record<Counted | 'seeds', number>

/** @throws Error at the first failure, with the history of its run */
export async function runSeeds(
  seeds: readonly number[],
  installation: Installation,
): Promise<Totals> {
  const totals = countersOf(['seeds', ...counted])
  for (const seed of seeds) {
    const result = await simulate(seed, planOf(seed), installation)
    totals.seeds += 1
    for (const name of counted) totals[name] += result.tally[name]
    if (result.problem !== null) throw new Error(report(seed, result))
  }
  return totals
}

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
