/** Runs seeds. A failing run is shortened and reported with the command that repeats it. */
import type { Installation } from './installation.ts'
import { planOf } from './plan.ts'
import type { Step } from './plan.ts'
import { countersOf } from './random.ts'
import { counted } from './run.ts'
import type { Counted, RunResult } from './run.ts'
import { simulate } from './simulation.ts'

const shortenings = 200
const shownLines = 400

export type Totals = Record<Counted | 'seeds', number>

/** @throws Error at the first failure, with the shortest history that was found */
export async function runSeeds(
  seeds: readonly number[],
  installation: Installation,
): Promise<Totals> {
  const totals = countersOf(['seeds', ...counted])
  for (const seed of seeds) {
    const result = await simulate(seed, planOf(seed), installation)
    totals.seeds += 1
    for (const name of counted) totals[name] += result.tally[name]
    if (result.problem !== null) throw new Error(await report(seed, result, installation))
  }
  return totals
}

/** Loads modules that are loaded at first use, so that no history depends on it. */
export async function warmUp(installation: Installation): Promise<void> {
  for (let seed = 1; seed <= 5; seed += 1) await simulate(seed, planOf(seed), installation)
}

export function stepsOf(seed: number, keep: string | undefined): readonly Step[] {
  const steps = planOf(seed)
  if (keep === undefined) return steps
  const kept = new Set(keep.split(',').map(Number))
  return steps.filter((_, at) => kept.has(at))
}

async function report(
  seed: number,
  result: RunResult,
  installation: Installation,
): Promise<string> {
  const keep = await shorten(seed, result.problem ?? '', installation)
  const steps = stepsOf(seed, keep.join(','))
  const { lines, problem } = await simulate(seed, steps, installation)
  const history = lines.slice(-shownLines).map((line) => line.slice(0, 240))
  const all = `SIMULATION_SEED=${seed} npm run test:simulation`
  const short = `SIMULATION_SEED=${seed} SIMULATION_KEEP=${keep.join(',')} npm run test:simulation`
  return [
    `Seed ${seed}: ${result.problem ?? ''}`,
    `With ${steps.length} of its ${planOf(seed).length} steps: ${problem ?? 'nothing'}`,
    ...history,
    `The whole of it again: ${all}`,
    `The short of it again: ${short}`,
  ].join('\n')
}

/** Removes steps, in ever smaller pieces, while the problem stays. */
async function shorten(
  seed: number,
  problem: string,
  installation: Installation,
): Promise<readonly number[]> {
  const steps = planOf(seed)
  let kept = steps.map((_, at) => at)
  let left = shortenings
  for (let size = Math.ceil(kept.length / 2); size >= 1 && left > 0; size = Math.floor(size / 2)) {
    for (let from = kept.length - size; from > -size && left > 0; from -= size) {
      const start = Math.max(0, from)
      const fewer = [...kept.slice(0, start), ...kept.slice(from + size)]
      left -= 1
      const tried = fewer.flatMap((at) => steps[at] ?? [])
      const result = await simulate(seed, tried, installation)
      if (isAlike(result.problem, problem)) kept = fewer
    }
  }
  return kept
}

/** Compares problems without names and numbers: the shortened run must show the same problem. */
function isAlike(found: string | null, wanted: string): boolean {
  const words = (text: string) => text.replaceAll(/[^a-z ]*\d[^ ]*|".*/g, '').slice(0, 30)
  return found !== null && words(found) === words(wanted)
}
