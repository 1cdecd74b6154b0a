/** The measurements of the benchmarks on `/docs/performance`, and what reads and writes cost at their CPU time. */
import { z } from 'zod'

import measured from '../../../data/performance.json' with { type: 'json' }
import { grouped } from '../../../src/core/number-text.ts'
import { stacked } from '../../../src/pages/blocks.ts'
import { gauge } from '../../../src/pages/gauge.ts'
import { inline } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'
import { column, figureColumn, table } from '../../../src/pages/table.ts'

const bounds = ['most', 'least', 'mostRatio', 'leastRatio'] as const

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
      /** Ends with the unit. */
      figure: z.string(),
      ours: z.number(),
      peer: z.string().nullable(),
      peers: z.number().nullable(),
      /** Ours divided by the peer's. */
      ratio: z.number().nullable(),
      spread: z.tuple([z.number(), z.number()]),
      /** Whether the target limits our figure or the ratio. */
      bound: z.enum(bounds),
      target: z.number(),
      isMet: z.boolean(),
    }),
  ),
})
export type SuiteRun = z.infer<typeof suiteRun>

const measurements = z.array(suiteRun).parse(measured)

/** The assumed price of a virtual core for an hour. */
export const usdPerCoreHour = 0.04

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
}

type MeasuredRow = SuiteRun['rows'][number] & Pick<SuiteRun, 'receipts'>

/** One table for each suite. */
export function performanceTables(): HtmlAndMarkdown {
  const suites = [...new Set(measurements.map(({ suite }) => suite))]
  return stacked(
    suites.map((suite) => suiteTable(measurements.filter((one) => one.suite === suite))),
  )
}

function suiteTable(runs: readonly SuiteRun[]): HtmlAndMarkdown {
  const suite = runs[0]?.suite ?? ''
  const rows = runs.flatMap(({ rows, receipts }) => rows.map((row) => ({ ...row, receipts })))
  const isSized = runs.some(({ receipts }) => receipts !== null)
  return table<MeasuredRow>(rows, {
    id: `suite-${suite}`,
    caption: `Suite ${suite}. ${runs.map(conditions).join(' ')}`,
    sortable: false,
    columns: [
      column('Row', ({ what }) => what),
      isSized ? figureColumn('Receipts', null, ({ receipts }) => number(receipts)) : null,
      column('Figure', ({ figure }) => figureNames[figure] ?? figure),
      figureColumn('Ledger', null, ({ ours }) => number(ours)),
      figureColumn('Peer', null, ({ peers }) => number(peers)),
      figureColumn('Ratio', null, ({ ratio }) => number(ratio)),
      figureColumn('Smallest to largest', null, ({ spread }) => spread.map(number).join(' to ')),
      column('Target', targetOf),
      column('Result', ({ isMet }) => (isMet ? 'met' : 'missed')),
    ],
  })
}

function conditions({ measuredOn, receipts, quick, cores, cpu, node }: SuiteRun): string {
  const size = receipts === null ? '' : `, ${number(receipts)} receipts`
  const rounds = quick ? ', two short rounds (`--quick`)' : ''
  return `Measured on ${measuredOn}${size}${rounds}: ${cores} cores (${cpu}), Node ${node}.`
}

/** In words, and with the measured value on a scale. */
function targetOf({ bound, target, ours, ratio, peer }: MeasuredRow): HtmlAndMarkdown {
  const isRatio = bound.endsWith('Ratio')
  const limit = isRatio ? `${target} × ${peer ?? 'the peer'}` : number(target)
  const text = inline`${bound.startsWith('most') ? 'at most' : 'at least'} ${limit}`
  const value = isRatio ? ratio : ours
  return { html: html`${text.html} ${value !== null && gauge(value, target)}`, md: text.md }
}

/** What reads and writes cost at the CPU time of their server. */
export function performanceCosts(): HtmlAndMarkdown {
  const rows = measurements.flatMap(({ suite, receipts, rows: measuredRows }) => {
    const [count, counted] = suite === 'writes' ? [1e3, 'thousand'] : [1e6, 'million']
    return measuredRows
      .filter(({ figure }) => figure === 'cpuUs')
      .map(({ what, ours }) => {
        const usd = costOfCpu(ours, count)
        return { what, receipts, counted, seconds: (ours * count) / 1e6, usd }
      })
  })
  return table(rows, {
    id: 'cost-of-cpu',
    caption: `CPU time of the measured server, at an assumed price of ${usdPerCoreHour} USD for a virtual core and hour.`,
    sortable: false,
    columns: [
      column('Row', ({ what }) => what),
      figureColumn('Receipts', null, ({ receipts }) => number(receipts)),
      column('Requests', ({ counted }) => `a ${counted}`),
      figureColumn('CPU time', 's', ({ seconds }) => number(seconds)),
      figureColumn('Cost', 'USD', ({ usd }) => Number(usd.toPrecision(2)).toString()),
    ],
  })
}

/** In USD, for requests that each take so many microseconds of CPU time. */
export function costOfCpu(us: number, requests: number): number {
  return ((us * requests) / 1e6 / 3600) * usdPerCoreHour
}

function number(value: number | null): string {
  if (value === null) return '—'
  const [whole = '', part] = String(Number(value.toPrecision(3))).split('.')
  return part === undefined ? grouped(whole) : `${grouped(whole)}.${part}`
}
