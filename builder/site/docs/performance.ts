/** The measurements of the benchmarks on `/docs/performance`, and what reads and writes cost at their CPU time. */
import { z } from 'zod'

import measured from '../../../data/performance.json' with { type: 'json' }
import { groupBy } from '../../../src/core/group-by.ts'
import { grouped } from '../../../src/core/number-text.ts'
import { joinedRuns } from '../../../src/core/readings.ts'
import { stacked } from '../../../src/pages/blocks.ts'
import { gauge } from '../../../src/pages/gauge.ts'
import { inline } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../../src/pages/html.ts'
import { column, figureColumn, table } from '../../../src/pages/table.ts'
import { sparkline } from '../../charts/page-chart.ts'

const medians = {
  /** Ends with the unit. */
  figure: z.string(),
  ours: z.number(),
  peers: z.number().nullable(),
  /** Ours divided by the peer's. */
  ratio: z.number().nullable(),
}

/** What one suite of `npm run bench` measured; `--json` writes a list of these. */
export const suiteRun = z.strictObject({
  suite: z.string(),
  /** Null: the figures do not depend on the number of receipts. */
  receipts: z.number().nullable(),
  measuredOn: z.string(),
  quick: z.boolean(),
  node: z.string(),
  cores: z.number(),
  cpu: z.string(),
  rows: z.array(
    z.strictObject({
      what: z.string(),
      peer: z.string().nullable(),
      ...medians,
      spread: z.tuple([z.number(), z.number()]),
      /** Whether the target limits our figure or the ratio. */
      bound: z.enum(['most', 'least', 'mostRatio', 'leastRatio']),
      target: z.number(),
      isMet: z.boolean(),
      /** The CPU time of a row about a rate; of other rows the rate. */
      beside: z.strictObject(medians).nullable(),
    }),
  ),
})
export type SuiteRun = z.infer<typeof suiteRun>

const measurements = z.array(suiteRun).parse(measured)

/** The assumed price of a virtual core for an hour. */
const usdPerCoreHour = 0.04

const figureNames: Readonly<Record<string, string>> = {
  cpuUs: 'CPU time, µs',
  cpuMs: 'CPU time, ms',
  fullCpuMs: 'CPU time of a full build, ms',
  receiptCpuMs: 'CPU time after one receipt, ms',
  receiptMs: 'time after one receipt, ms',
  perSecond: 'per second',
  p95Ms: '95th percentile, ms',
  p99Ms: '99th percentile, ms',
  ms: 'time, ms',
  moreMs: 'additional time, ms',
  mb: 'size, MB',
  peakMb: 'peak of memory, MB',
}
const nameOf = (figure: string) => figureNames[figure] ?? figure

type Row = SuiteRun['rows'][number] & Pick<SuiteRun, 'receipts'>

/** Rows of quick runs say so. */
const rowsOf = (runs: readonly SuiteRun[]): Row[] =>
  runs.flatMap(({ rows, receipts, quick }) =>
    rows.map((row) => ({ ...row, receipts, what: quick ? `${row.what} (quick)` : row.what })),
  )

/** One table for each suite. */
export function performanceTables(): HtmlAndMarkdown {
  return stacked([...groupBy(measurements, ({ suite }) => suite).values()].map(suiteTable))
}

export function suiteTable(runs: readonly SuiteRun[]): HtmlAndMarkdown {
  const suite = runs[0]?.suite ?? ''
  const isSized = runs.some(({ receipts }) => receipts !== null)
  return table(rowsOf(runs), {
    id: `suite-${suite}`,
    caption: `Suite ${suite}. ${runs.map(conditions).join(' ')}`,
    sortable: false,
    columns: [
      column('Row', ({ what }) => what),
      isSized ? figureColumn('Receipts', null, ({ receipts }) => number(receipts)) : null,
      column('Figure', ({ figure }) => nameOf(figure)),
      figureColumn('Ledger', null, ({ ours }) => number(ours)),
      figureColumn('Peer', null, ({ peers }) => number(peers)),
      figureColumn('Ratio', null, ({ ratio }) => number(ratio)),
      figureColumn('Smallest to largest', null, ({ spread }) => spread.map(number).join(' to ')),
      column('Target', targetOf),
      column('Result', ({ isMet }) => verdict(isMet)),
      column('Beside', ({ beside }) =>
        beside === null
          ? '—'
          : `${nameOf(beside.figure)}: ${number(beside.ours)}, ratio ${number(beside.ratio)}`,
      ),
      figureColumn('Cost', `USD at ${usdPerCoreHour} a core-hour`, costText),
    ],
  })
}

function conditions({ measuredOn, receipts, quick, cores, cpu, node }: SuiteRun): string {
  const size = receipts === null ? '' : `, ${number(receipts)} receipts`
  const rounds = quick ? ', two short rounds' : ''
  return `Measured on ${measuredOn}${size}${rounds}: ${cores} cores (${cpu}), Node ${node}.`
}

/** In words, and with the measured value on a scale. */
function targetOf({ bound, target, ours, ratio, peer }: Row): HtmlAndMarkdown {
  const isRatio = bound.endsWith('Ratio')
  const limit = isRatio ? `${target} × ${peer ?? 'the peer'}` : number(target)
  const text = inline`${bound.startsWith('most') ? 'at most' : 'at least'} ${limit}`
  const value = isRatio ? ratio : ours
  return { html: html`${text.html} ${value !== null && gauge(value, target)}`, md: text.md }
}

const verdict = (isMet: boolean) => (isMet ? 'met' : 'missed')

/** The cost of a thousand writes or a million reads at the CPU time of their server. */
function costText({ what, beside, ...row }: Row): string {
  const { figure, ours } = row.figure === 'cpuUs' || beside === null ? row : beside
  if (figure !== 'cpuUs') return '—'
  const isWrite = /^(?:signed receipt|registration)/.test(what)
  const seconds = isWrite ? ours / 1e3 : ours
  const usd = (seconds / 3600) * usdPerCoreHour
  return `${Number(usd.toPrecision(2))} a ${isWrite ? 'thousand' : 'million'}`
}

const sizes = [10_000, 100_000, 1_000_000]
/** Of reads, single writes and builds after one receipt, which may grow by a fifth from the second size to the third. */
const limited = ['cpuUs', 'p99Ms', 'receiptCpuMs', 'receiptMs']

/** Charts of what depends on the number of receipts, from full measurements only. */
export function performanceGrowth(runs: readonly SuiteRun[] = measurements): HtmlAndMarkdown {
  const full = runs.filter(({ quick, receipts }) => !quick && receipts !== null)
  const rows = [...groupBy(rowsOf(full), ({ what, figure }) => `${what}: ${nameOf(figure)}`)]
  const figuresOf = (measured: readonly Row[]) =>
    sizes.map((size) => measured.find(({ receipts }) => receipts === size)?.ours ?? null)
  return table(rows, {
    id: 'growth-table',
    caption: `Figures of the ledger with ${sizes.map(number).join(', ')} receipts.`,
    sortable: false,
    empty: 'No full measurement yet.',
    columns: [
      column('Row', ([name]) => name),
      column('Figures', ([, measured]) =>
        figuresOf(measured)
          .map((value) => (value === null ? 'not measured' : number(value)))
          .join(' → '),
      ),
      column('Chart', ([name, measured]) => {
        const readings = figuresOf(measured).map((value, day) => ({ day, value }))
        const svg = sparkline(joinedRuns(readings, 1), [0, sizes.length - 1], name)
        return { html: html`<span class="spark">${trusted(svg)}</span>`, md: '—' }
      }),
      column('Growth', ([, measured]) => {
        const [, from = null, to = null] = figuresOf(measured)
        if (from === null || to === null) return '—'
        const isLimited = limited.includes(measured[0]?.figure ?? '')
        const growth = `${((to / from - 1) * 100).toFixed(0)} %`
        return isLimited ? `${growth}, at most 20 %: ${verdict(to / from <= 1.2)}` : growth
      }),
    ],
  })
}

function number(value: number | null): string {
  return value === null ? '—' : grouped(String(Number(value.toPrecision(3))))
}
