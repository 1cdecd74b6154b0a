import { z } from 'zod'

import { railStatus } from '../../src/contract/schemas/rail.ts'
import { toUsdc } from '../../src/core/money.ts'
import { isJudged } from '../../src/core/rail-poll.ts'
import { dayMs } from '../../src/core/time.ts'
import { para } from '../../src/pages/blocks.ts'
import { ageText, amountText, count, day, notJudged, pill } from '../../src/pages/figures.ts'
import { inline } from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { cell, column, fixedColumn, table, timeCell, timeColumn } from '../../src/pages/table.ts'
import type { LedgerEvent, World } from '../world/world.ts'

/** The data of an event `rail_transition`. */
export const transition = z.object({
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

export function transitionsOf(
  rail: string,
  { events }: Pick<World, 'events'>,
): readonly LedgerEvent[] {
  return events.filter((event) => event.kind === 'rail_transition' && event.rail === rail)
}

/** Status changes, newest first. */
export function statusTimeline(
  rail: string,
  world: Pick<World, 'events' | 'nowMs' | 'rails'>,
): HtmlAndMarkdown {
  const changes = transitionsOf(rail, world)
    .flatMap((event) => {
      const data = transition.safeParse(event.data)
      return data.success ? [{ atMs: event.createdAtMs, ...data.data }] : []
    })
    .toSorted((a, b) => b.atMs - a.atMs)
  const record = world.rails.find(({ authored }) => authored.rail === rail)
  if (record === undefined) throw new Error(`no rail ${rail} in this world`)
  if (changes.length === 0) {
    const { state, authored } = record
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
      timeColumn('Since', ({ atMs }) => atMs),
      // The current status is sorted after every time.
      column('Until', ({ untilMs }) =>
        untilMs === null ? cell('now', Number.MAX_SAFE_INTEGER) : timeCell(untilMs),
      ),
      column('Status', ({ to }) => pill(to)),
      column('Before', ({ from }) => inline`from ${pill(from)}`),
      fixedColumn('Figures', ({ figures }) => cause(figures), 'wide'),
      fixedColumn('Duration', ({ atMs, untilMs }) => duration(atMs, untilMs ?? world.nowMs)),
    ],
  })
}

/** Returns the duration in whole days, so that the page rarely changes. */
function duration(fromMs: number, untilMs: number): string {
  return untilMs - fromMs < dayMs ? 'less than a day' : ageText(untilMs - fromMs)
}

function cause(figures: z.infer<typeof transition>['figures']): Inline {
  if (figures === undefined) return 'not recorded'
  const volume = figures.tpv30dMicroUsdc ?? null
  const share = figures.topWorkerShare ?? null
  return [
    inline`${count(figures.uniqueCreators30d ?? null)} creators, ${count(figures.uniqueWorkers30d ?? null)} workers, `,
    volume === null ? 'volume unknown' : `${amountText(toUsdc(volume))} USDC in 30 days`,
    share === null ? '' : `, top worker ${(share * 100).toFixed(1)} %`,
  ]
}
