import { sha256Hex } from '../../src/auth/messages.ts'
import type { RailPoll } from '../../src/contract/schemas/rail.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { csv } from '../../src/core/csv.ts'
import { present } from '../../src/core/entries.ts'
import { figureNames, publicFigure } from '../../src/core/figures.ts'
import { isoTime } from '../../src/core/time.ts'
import { memoizeLatest } from '../cache/memoize.ts'
import type { DocumentBody } from '../publish/document.ts'
import type { PollRecord } from '../world/world.ts'
import { asJson, documentOf, snapshotFamily } from './document.ts'
import { evidenceUri } from './rail-view.ts'

/** One year at four polls a day. */
export const shownPolls = 1461

/** `/rails/{name}/history` as JSON and CSV; not archived. */
export const historyDocuments = snapshotFamily(['history', 'rails'], function* (world) {
  // The JSON and the CSV of a rail are rendered one after the other, from the same views.
  const viewsOf = memoizeLatest((polls: readonly PollRecord[]) => polls.map(pollView))
  for (const { authored } of world.rails) {
    const params = { name: authored.rail }
    const polls = (world.history.get(authored.rail) ?? []).slice(0, shownPolls)
    const revision = revisionOfPolls(polls)
    // Rendered only if the revision is not published yet.
    const deferred = (make: () => DocumentBody) => ({ body: { revision, make }, archive: null })
    const history = deferred(() => ({
      json: asJson({ rail: authored.rail, count: polls.length, polls: viewsOf(polls) }),
      stamp: 'computed_at',
    }))
    const table = deferred(() => ({ text: csv(csvColumns, viewsOf(polls)) }))
    yield { ...documentOf('getRailHistory', params), ...history }
    yield { ...documentOf('getRailHistoryCsv', params), ...table }
  }
})

/** Polls are append-only: number, newest and oldest identify a history. */
export function revisionOfPolls(polls: readonly PollRecord[]): string {
  return canonicalize([polls.length, polls[0] ?? null, polls.at(-1)?.polledAtMs ?? null])
}

export function pollView(poll: PollRecord): RailPoll {
  const { figures } = poll
  const figure = (name: (typeof figureNames)[number]) =>
    figures === null ? null : publicFigure(figures, name)
  // The members are in canonical order, which saves sorting every poll of a year.
  return {
    ...evidenceUri(poll),
    outcome: poll.outcome,
    parties_30d: figure('parties_30d'),
    poll_duration_ms: poll.durationMs,
    ...(poll.error === null ? {} : { poll_error: poll.error }),
    polled_at: isoTime(poll.polledAtMs),
    rule: poll.rule,
    status: poll.status,
    top_worker_share: figure('top_worker_share'),
    tpv_30d_net_usdc: figure('tpv_30d_net_usdc'),
    tpv_30d_raw_usdc: figure('tpv_30d_raw_usdc'),
    tpv_30d_usdc: figure('tpv_30d_usdc'),
    tpv_7d_raw_usdc: figure('tpv_7d_raw_usdc'),
    tpv_7d_usdc: figure('tpv_7d_usdc'),
    unique_creators_30d: figure('unique_creators_30d'),
    unique_workers_30d: figure('unique_workers_30d'),
    worker_usd_per_day_high: figure('worker_usd_per_day_high'),
    worker_usd_per_day_low: figure('worker_usd_per_day_low'),
    worker_usd_per_day_median: figure('worker_usd_per_day_median'),
  }
}

/** A figure that a later version adds is null in older polls, so members that are null are not hashed. */
export function pollHash(rail: string, poll: object): string {
  return sha256Hex(canonicalize({ ...present(poll), rail }))
}

const csvColumns = [
  'polled_at',
  'outcome',
  'status',
  ...figureNames,
  'rule',
  'poll_duration_ms',
  'poll_error',
] as const satisfies readonly (keyof RailPoll)[]
