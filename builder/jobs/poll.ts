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

/** Rails that are not finished get another turn after the others: here with `all`, else in the next round. */
export async function pollRound(
  deps: PollDeps,
  options: RoundOptions,
): Promise<readonly PollReport[]> {
  const reports = new Map<string, PollReport>()
  let waiting = await railsOf(deps, options)
  do {
    await mapConcurrent(waiting, concurrentPolls, async ({ adapter, authored }) => {
      const report = await pollRail(adapter, authored, deps, options.signal)
      reports.set(adapter.rail, report)
      options.onReport?.(report)
    })
    waiting = waiting.filter(({ adapter }) => reports.get(adapter.rail)?.outcome === 'unfinished')
  } while (options.which === 'all' && waiting.length > 0)
  return [...reports.values()]
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
    const { state } = states.get(adapter.rail) ?? {}
    const lastPollAtMs = state?.lastPollAtMs ?? null
    const failures = state?.consecutiveFailures ?? 0
    const offsetMs = offsetMsOf(adapter.rail, pollEveryMs)
    const due = isDue(nowMs, lastPollAtMs, failures, pollEveryMs, offsetMs)
    return which === 'all' || due ? [{ adapter, authored: entry }] : []
  })
}

/** Such as `6 rails polled, 1 failed (olas), 2 not finished (pact, x402)`. */
export function roundSummary(reports: readonly PollReport[]): string {
  const part = (wanted: PollReport['outcome'], words: string): string => {
    const rails = reports.filter(({ outcome }) => outcome === wanted).map(({ rail }) => rail)
    return rails.length === 0 ? '' : `, ${rails.length} ${words} (${rails.toSorted().join(', ')})`
  }
  return `${reports.length} rails polled${part('failed', 'failed')}${part('unfinished', 'not finished')}`
}
