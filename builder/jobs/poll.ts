import { mapConcurrent } from '../../src/core/concurrency.ts'
import { loadRailStates } from '../../src/db/polls.ts'
import type { AnyRailAdapter } from '../rails/adapter.ts'
import type { AuthoredRail } from '../world/authored-rails.ts'
import { pollRail } from './poll-rail.ts'
import type { PollDeps, PollReport } from './poll-rail.ts'
import { isDue, offsetMsOf } from './poll-times.ts'

const concurrentPolls = 4

export interface RoundOptions {
  readonly adapters: readonly AnyRailAdapter[]
  readonly authored: readonly AuthoredRail[]
  readonly which: 'due' | 'all'
  readonly signal: AbortSignal
  readonly onReport?: (report: PollReport) => void
}

export async function pollRound(
  deps: PollDeps,
  options: RoundOptions,
): Promise<readonly PollReport[]> {
  const reports: PollReport[] = []
  await mapConcurrent(await railsOf(deps, options), concurrentPolls, async (next) => {
    const report = await pollRail(next.adapter, next.authored, deps, options.signal)
    reports.push(report)
    options.onReport?.(report)
  })
  return reports
}

async function railsOf(
  { database, clock, pollEveryMs }: PollDeps,
  { adapters, authored, which }: RoundOptions,
): Promise<{ adapter: AnyRailAdapter; authored: AuthoredRail }[]> {
  const states = await loadRailStates(database.reader)
  const nowMs = clock.now()
  return adapters.flatMap((adapter) => {
    const entry = authored.find(({ rail }) => rail === adapter.rail)
    if (entry === undefined) throw new Error(`rail ${adapter.rail} has no file in data/rails`)
    const state = states.get(adapter.rail)
    const lastPollAt = state?.lastPollAt ?? null
    const lastPollAtMs = lastPollAt === null ? null : Date.parse(lastPollAt)
    const failures = state?.consecutiveFailures ?? 0
    const offsetMs = offsetMsOf(adapter.rail, pollEveryMs)
    const due = isDue(nowMs, lastPollAtMs, failures, pollEveryMs, offsetMs)
    return which === 'all' || due ? [{ adapter, authored: entry }] : []
  })
}

/** Such as `6 rails polled, 1 failed (olas)`. */
export function roundSummary(reports: readonly PollReport[]): string {
  const failed = reports.filter(({ outcome }) => outcome === 'failed').map(({ rail }) => rail)
  const tail =
    failed.length === 0 ? '' : `, ${failed.length} failed (${failed.toSorted().join(', ')})`
  return `${reports.length} rails polled${tail}`
}
