import { z } from 'zod'

import { railStatus } from '../../src/contract/schemas/rail.ts'
import { toUsdc } from '../../src/core/money.ts'
import { isJudged } from '../../src/core/rail-poll.ts'
import { dayMs } from '../../src/core/time.ts'
import { para } from '../../src/pages/blocks.ts'
import { ageText, amountText, count, day, notJudged, pill } from '../../src/pages/figures.ts'
import { inline } from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { cell, column, fixedColumn, table, timeCell } from '../../src/pages/table.ts'
import type { LedgerEvent, RailRecord, World } from '../world/world.ts'

/** The data of an event `rail_transition`. */
const transition = z.object({
  from: railStatus,
  to: railStatus,
  rules_changed: z.unknown().optional(),
  figures: z
    .object({
      tpv30dMicroUsdc: z.number().nullable(),
      uniqueCreators30d: z.number().nullable(),
      uniqueWorkers30d: z.number().nullable(),
      topWorkerShare: z.number().nullable(),
    })
    .partial()
    .optional(),
})

export function statusChangeOf({ kind, rail, data, createdAtMs: atMs }: LedgerEvent) {
  const parsed = transition.safeParse(data)
  if (kind !== 'rail_transition' || rail === null || !parsed.success) return []
  return [{ rail, atMs, ...parsed.data }]
}

type StatusChange = ReturnType<typeof statusChangeOf>[number]

/** Newest first. */
export function statusChanges(
  slug: string,
  { events }: Pick<World, 'events'>,
): readonly StatusChange[] {
  return events
    .filter(({ rail }) => rail === slug)
    .flatMap(statusChangeOf)
    .toSorted((a, b) => b.atMs - a.atMs)
}

export function statusTimeline(
  { state, authored }: RailRecord,
  changes: readonly StatusChange[],
  nowMs: number,
): HtmlAndMarkdown {
  if (changes.length === 0) {
    const since = isJudged(state, authored.status_basis)
      ? inline`${pill(state.status)} since ${day(state.statusSinceMs)}`
      : notJudged
    return para(inline`${since}; no status change has been recorded.`)
  }
  const rows = changes.map((change, index) => ({
    ...change,
    untilMs: changes[index - 1]?.atMs ?? null,
  }))
  return table(rows, {
    id: 'timeline',
    caption:
      'Status changes with the figures that caused them. A failed poll never changes the status.',
    columns: [
      column('Since', ({ atMs }) => timeCell(atMs)),
      // The current status is sorted after every time.
      column('Until', ({ untilMs }) =>
        untilMs === null ? cell('now', Number.MAX_SAFE_INTEGER) : timeCell(untilMs),
      ),
      column('Status', ({ to }) => pill(to)),
      column('Before', ({ from }) => inline`from ${pill(from)}`),
      fixedColumn('Figures', ({ figures }) => cause(figures), 'wide'),
      fixedColumn('Duration', ({ atMs, untilMs }) => duration(atMs, untilMs ?? nowMs)),
    ],
  })
}

/** Returns the duration in whole days, so that the page rarely changes. */
function duration(fromMs: number, untilMs: number): string {
  return untilMs - fromMs < dayMs ? 'less than a day' : ageText(untilMs - fromMs)
}

function cause(figures: StatusChange['figures']): Inline {
  if (figures === undefined) return 'not recorded'
  const volume = figures.tpv30dMicroUsdc ?? null
  const share = figures.topWorkerShare ?? null
  return [
    inline`${count(figures.uniqueCreators30d ?? null)} creators, ${count(figures.uniqueWorkers30d ?? null)} workers, `,
    volume === null ? 'volume unknown' : `${amountText(toUsdc(volume))} USDC in 30 days`,
    share === null ? '' : `, top worker ${(share * 100).toFixed(1)} %`,
  ]
}
