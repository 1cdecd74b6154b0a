import { mapConcurrent } from '../../src/core/concurrency.ts'
import { minuteMs } from '../../src/core/time.ts'
import { loadRailStates } from '../../src/db/polls.ts'
import type { AnyRailAdapter } from '../rails/adapter.ts'
import type { AuthoredRail } from '../world/authored-rails.ts'
import { pollRail } from './poll-rail.ts'
import type { PollDeps, PollReport } from './poll-rail.ts'

/** Of rails that are read over HTTP, and of others, since two large lists at once fill half of the builder's memory. */
const concurrentPolls = 2

export interface RoundOptions {
  readonly adapters: readonly AnyRailAdapter[]
  readonly authored: readonly AuthoredRail[]
  readonly which: 'due' | 'all'
  readonly signal: AbortSignal
  readonly onReport?: ((report: PollReport) => void) | undefined
}

/** Unfinished rails are polled again after the others: in this run with `all`, otherwise in the next round. */
export async function pollRound(
  deps: PollDeps,
  options: RoundOptions,
): Promise<readonly PollReport[]> {
  const reports = new Map<string, PollReport>()
  let waiting = await railsOf(deps, options)
  do {
    const kinds = [true, false].map((isHttp) =>
      waiting.filter(({ adapter }) => adapter.hosts.length > 0 === isHttp),
    )
    await mapConcurrent(kinds, kinds.length, (rails) =>
      mapConcurrent(rails, concurrentPolls, async ({ adapter, authored }) => {
        const report = await pollRail(adapter, authored, deps, options.signal)
        reports.set(adapter.rail, report)
        options.onReport?.(report)
      }),
    )
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
    const offsetMs = hashOf(adapter.rail) % pollEveryMs
    const due = isDue(nowMs, lastPollAtMs, failures, pollEveryMs, offsetMs)
    return which === 'all' || due ? [{ adapter, authored: entry }] : []
  })
}

const firstRetryMs = 30 * minuteMs

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  }
  return hash
}

/** After a failure, the pause is 30 minutes, doubled up to the interval. A clock set back delays at most one interval. */
function isDue(
  nowMs: number,
  lastPollAtMs: number | null,
  consecutiveFailures: number,
  everyMs: number,
  offsetMs: number,
): boolean {
  if (lastPollAtMs === null || lastPollAtMs > nowMs + everyMs) return true
  if (consecutiveFailures > 0) {
    const waitMs = Math.min(everyMs, firstRetryMs * 2 ** Math.min(consecutiveFailures - 1, 10))
    return nowMs - lastPollAtMs >= waitMs
  }
  const slot = (timeMs: number) => Math.floor((timeMs - offsetMs) / everyMs)
  return slot(nowMs) > slot(lastPollAtMs)
}

/** Such as `6 rails polled, 1 failed (olas), 2 not finished (pact, x402)`. */
export function roundSummary(reports: readonly PollReport[]): string {
  const part = (wanted: PollReport['outcome'], words: string): string => {
    const rails = reports.filter(({ outcome }) => outcome === wanted).map(({ rail }) => rail)
    return rails.length === 0 ? '' : `, ${rails.length} ${words} (${rails.toSorted().join(', ')})`
  }
  return `${reports.length} rails polled${part('failed', 'failed')}${part('unfinished', 'not finished')}`
}
