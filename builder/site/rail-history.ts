/** The volume of a rail over time: two charts and a table of polls. */
import type { CountedFigure } from '../../src/core/figures.ts'
import { usdcOrNull } from '../../src/core/money.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import { figure, folded, pair, para } from '../../src/pages/blocks.ts'
import { amountText, pill } from '../../src/pages/figures.ts'
import { untrustedText, inline } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import {
  amountColumn,
  column,
  countColumn,
  percentColumn,
  table,
  timeColumn,
} from '../../src/pages/table.ts'
import { lineChart } from '../charts/chart.ts'
import type { PollRecord } from '../world/world.ts'
import { daily } from './rail-parts.ts'

const chartDays = 90
const tablePolls = 30

/** Draws filtered and raw volume of both windows, with one value per day and gaps for unknown days. */
export function volumeCharts(
  name: string,
  polls: readonly PollRecord[],
  nowMs: number,
): HtmlAndMarkdown {
  const daysOf = (volume: CountedFigure) => daily(polls, volume, chartDays, nowMs)
  const charts = [
    chart(name, '30-day volume', daysOf('tpv30dMicroUsdc'), daysOf('tpv30dRawMicroUsdc'), nowMs),
    chart(name, '7-day volume', daysOf('tpv7dMicroUsdc'), daysOf('tpv7dRawMicroUsdc'), nowMs),
  ].filter((drawn) => drawn !== null)
  return charts.length === 0 ? para('No volume data yet.') : pair(charts)
}

function chart(
  name: string,
  what: string,
  all: readonly (number | null)[],
  allRaw: readonly (number | null)[],
  nowMs: number,
): HtmlAndMarkdown | null {
  const from = all.findIndex((value, at) => (value ?? allRaw[at] ?? null) !== null)
  if (from === -1) return null
  const points = all
    .map((value, at) => ({ label: isoDate(nowMs - (chartDays - 1 - at) * dayMs), value }))
    .slice(from)
  const values = allRaw.slice(from)
  const words = `${what} of ${name}: ${inWords(points.map(({ value }) => value))} filtered, ${inWords(values)} raw, over ${points.length} days`
  return figure(
    lineChart({
      setting: 'page',
      title: `${what}, USDC`,
      description: words,
      points,
      companion: { names: ['filtered', 'raw'], values },
      width: 480,
      height: 220,
    }),
    inline`${what} in USDC, one value a day: ${inWords(points.map(({ value }) => value))} after the filter rule, ${inWords(values)} before it. Gaps are days with an unknown figure.`,
  )
}

function volumeOf({ figures }: PollRecord, volume: CountedFigure): number | null {
  return usdcOrNull(figures?.[volume] ?? null)
}

/** `120.00 → 134.50`, `120.00`, or `unknown`. */
function inWords(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) return 'unknown'
  return known.length === 1 ? amountText(first) : `${amountText(first)} → ${amountText(last)}`
}

/** The newest polls, including failed ones. */
export function pollTable(polls: readonly PollRecord[]): HtmlAndMarkdown | null {
  if (polls.length === 0) return null
  const shown = polls.slice(0, tablePolls)
  const polled = table(shown, {
    id: 'polls',
    caption: `The newest ${shown.length} of ${polls.length} polls.`,
    columns: [
      timeColumn('Polled', (poll) => poll.polledAtMs),
      column('Outcome', ({ error }) =>
        error === null ? 'successful' : inline`failed: ${untrustedText(error)}`,
      ),
      column('Status', ({ outcome, status }) => (outcome === 'ok' ? pill(status) : '')),
      amountColumn('Filtered', 'USDC, 30 days', (poll) => volumeOf(poll, 'tpv30dMicroUsdc')),
      amountColumn('Raw', 'USDC, 30 days', (poll) => volumeOf(poll, 'tpv30dRawMicroUsdc')),
      amountColumn('Filtered', 'USDC, 7 days', (poll) => volumeOf(poll, 'tpv7dMicroUsdc')),
      countColumn('Workers', null, ({ figures }) => figures?.uniqueWorkers30d ?? null),
      percentColumn('Top worker', 'share', ({ figures }) => figures?.topWorkerShare ?? null),
      column('Rule', ({ rule }) => rule),
    ],
  })
  return folded('Table of polls', polled)
}
