/** Tables of the cost page: what reads and writes require, from measured figures and a model of caches in front. */
import { grouped } from '../../../src/core/number-text.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, figureColumn, table } from '../../../src/pages/table.ts'
import {
  edgeCache,
  examplePrices,
  measuredOn,
  readKinds,
  readsPerDay,
  writes,
} from './cost-figures.ts'
import { edgeDay } from './edge-cache.ts'
import type { EdgeDay } from './edge-cache.ts'

const bytesPerGb = 1e9
const daySeconds = 86_400

const scenarios = readsPerDay.flatMap((reads) =>
  [false, true].map((hasShield) => ({
    name: `${grouped(String(reads))}, ${hasShield ? 'with' : 'without'} a shield`,
    day: edgeDay(reads, readKinds, { ...edgeCache, hasShield }),
  })),
)

type Scenario = (typeof scenarios)[number]

export const originPeakPerSecond = Math.max(
  ...scenarios.map(({ day }) => day.originRequests / daySeconds),
)

export function readsTable(): HtmlAndMarkdown {
  return table(scenarios, {
    id: 'reads-a-day',
    caption: `Expected for one day with ${edgeCache.points} points of presence. A shield is an additional cache between them and the origin.`,
    sortable: false,
    columns: [
      column('Reads a day', ({ name }) => name),
      figureColumn('Served at the edge', null, ({ day }) => `${(day.hitShare * 100).toFixed(2)} %`),
      figureColumn('To readers', 'GB', ({ day }) => gigabytes(day.edgeBytes)),
      figureColumn('To the origin', 'requests', ({ day }) => whole(day.originRequests)),
      figureColumn('Per second', 'requests', ({ day }) =>
        (day.originRequests / daySeconds).toFixed(2),
      ),
      figureColumn('From the origin', 'GB', ({ day }) => gigabytes(day.originBytes)),
    ],
  })
}

const dailyCosts = [
  ['Reads', ({ reads }: EdgeDay) => (reads / 1e6) * examplePrices.perMillionReads],
  ['Edge', ({ edgeBytes }: EdgeDay) => (edgeBytes / bytesPerGb) * examplePrices.perGb],
  ['Origin', ({ originBytes }: EdgeDay) => (originBytes / bytesPerGb) * examplePrices.perOriginGb],
] as const

function costColumn(label: string, usd: (day: EdgeDay) => number) {
  return figureColumn(label, 'USD a day', ({ day }: Scenario) => grouped(usd(day).toFixed(2)))
}

export function moneyTable(): HtmlAndMarkdown {
  const { perMillionReads, perGb, perOriginGb } = examplePrices
  return table(scenarios, {
    id: 'money-a-day',
    caption: `The prices are examples and not those of a provider: ${perMillionReads} USD for a million reads, ${perGb} USD for a GB at the edge, ${perOriginGb} USD for a GB from the origin.`,
    sortable: false,
    columns: [
      column('Reads a day', ({ name }) => name),
      ...dailyCosts.map(([label, usd]) => costColumn(label, usd)),
      costColumn('Total', (day) => dailyCosts.reduce((sum, [, usd]) => sum + usd(day), 0)),
    ],
  })
}

export function documentsTable(): HtmlAndMarkdown {
  return table(readKinds, {
    id: 'kinds-of-reads',
    caption: `Sizes were measured on ${measuredOn}. The share of reads is an assumption; max-age is the value served.`,
    sortable: false,
    columns: [
      column('Kind', ({ name }) => name),
      figureColumn('Share', null, ({ share }) => `${(share * 100).toFixed(0)} %`),
      figureColumn('Documents', null, ({ documents }) => String(documents)),
      figureColumn('Plain', 'bytes', ({ plainBytes }) => whole(plainBytes)),
      figureColumn('As sent', 'bytes', ({ bodyBytes }) => whole(bodyBytes)),
      figureColumn('max-age', 's', ({ maxAgeSeconds }) => String(maxAgeSeconds)),
      figureColumn('Changes', 'a day', ({ changesPerDay }) => grouped(String(changesPerDay))),
    ],
  })
}

export function writesTable(): HtmlAndMarkdown {
  const { bytesPerReceipt, cpuMicroseconds, groupSize, diskBytes, perDay } = writes
  const coreFull = Math.floor(1e6 / cpuMicroseconds) * daySeconds
  return table([...perDay, coreFull], {
    id: 'writes-a-day',
    caption: `Signed receipts, measured on ${measuredOn}: each took ${grouped(String(cpuMicroseconds))} microseconds of a core, on a machine with other work, and ${grouped(String(bytesPerReceipt))} bytes of disk.`,
    sortable: false,
    columns: [
      figureColumn('Receipts a day', null, whole),
      figureColumn('Per second', null, (receipts) => (receipts / daySeconds).toFixed(2)),
      figureColumn(
        'Share of one core',
        null,
        (receipts) => `${((receipts / daySeconds) * cpuMicroseconds * 1e-4).toFixed(2)} %`,
      ),
      figureColumn('Disk', 'GB a day', (receipts) =>
        ((receipts * bytesPerReceipt) / bytesPerGb).toFixed(3),
      ),
      figureColumn('Flushes', 'a second, from to', (receipts) => {
        const rate = receipts / daySeconds
        return `${(rate / groupSize).toFixed(2)} to ${rate.toFixed(2)}`
      }),
      figureColumn(`${grouped(String(diskBytes / bytesPerGb))} GB last`, 'days', (receipts) =>
        whole(diskBytes / bytesPerReceipt / receipts),
      ),
    ],
  })
}

function gigabytes(bytes: number): string {
  return grouped((bytes / bytesPerGb).toFixed(2))
}

function whole(value: number): string {
  return grouped(String(Math.round(value)))
}
