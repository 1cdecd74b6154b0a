/** Tables of the cost page: what reads and writes require, from measured figures and a model of caches in front. */
import { grouped } from '../../../src/core/number-text.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { unsortedTable } from '../../../src/pages/table.ts'
import {
  edgeCache,
  examplePrices,
  measuredOn,
  readKinds,
  readsPerDay,
  writes,
} from './cost-figures.ts'
import { edgeDay } from './edge-cache.ts'

const bytesPerGb = 1e9
const daySeconds = 86_400
const figure = (label: string, unit?: string) =>
  ({ label, kind: 'figure', ...(unit !== undefined && { unit }) }) as const

const scenarios = readsPerDay.flatMap((reads) =>
  [false, true].map((hasShield) => ({
    name: `${grouped(String(reads))}, ${hasShield ? 'with' : 'without'} a shield`,
    day: edgeDay(reads, readKinds, { ...edgeCache, hasShield }),
  })),
)

export const originPeakPerSecond = Math.max(
  ...scenarios.map(({ day }) => day.originRequests / daySeconds),
)

export function readsTable(): HtmlAndMarkdown {
  return unsortedTable(
    'reads-a-day',
    `Expected for one day with ${edgeCache.points} points of presence. A shield is an additional cache between them and the origin.`,
    [
      'Reads a day',
      figure('Served at the edge'),
      figure('To readers', 'GB'),
      figure('To the origin', 'requests'),
      figure('Per second', 'requests'),
      figure('From the origin', 'GB'),
    ],
    scenarios.map(({ name, day }) => [
      name,
      `${(day.hitShare * 100).toFixed(2)} %`,
      gigabytes(day.edgeBytes),
      whole(day.originRequests),
      (day.originRequests / daySeconds).toFixed(2),
      gigabytes(day.originBytes),
    ]),
  )
}

export function moneyTable(): HtmlAndMarkdown {
  const { perMillionReads, perGb, perOriginGb } = examplePrices
  return unsortedTable(
    'money-a-day',
    `Example prices, not those of any provider: ${perMillionReads} USD for a million reads, ${perGb} USD for a GB at the edge, ${perOriginGb} USD for a GB from the origin.`,
    [
      'Reads a day',
      ...['Reads', 'Edge', 'Origin', 'Total'].map((label) => figure(label, 'USD a day')),
    ],
    scenarios.map(({ name, day }) => {
      const parts = [
        (day.reads / 1e6) * perMillionReads,
        (day.edgeBytes / bytesPerGb) * perGb,
        (day.originBytes / bytesPerGb) * perOriginGb,
      ]
      const total = parts.reduce((sum, part) => sum + part, 0)
      return [name, ...[...parts, total].map((usd) => grouped(usd.toFixed(2)))]
    }),
  )
}

export function documentsTable(): HtmlAndMarkdown {
  return unsortedTable(
    'kinds-of-reads',
    `Sizes were measured on ${measuredOn}. The share of reads is an assumption; max-age is the value served.`,
    [
      'Kind',
      figure('Share'),
      figure('Documents'),
      figure('Plain', 'bytes'),
      figure('As sent', 'bytes'),
      figure('max-age', 's'),
      figure('Changes', 'a day'),
    ],
    readKinds.map((kind) => [
      kind.name,
      `${(kind.share * 100).toFixed(0)} %`,
      String(kind.documents),
      whole(kind.plainBytes),
      whole(kind.bodyBytes),
      String(kind.maxAgeSeconds),
      grouped(String(kind.changesPerDay)),
    ]),
  )
}

export function writesTable(): HtmlAndMarkdown {
  const { bytesPerReceipt, cpuMicroseconds, groupSize, diskBytes, perDay } = writes
  const coreFull = Math.floor(1e6 / cpuMicroseconds) * daySeconds
  return unsortedTable(
    'writes-a-day',
    `Signed receipts, measured on ${measuredOn}: each took ${grouped(String(cpuMicroseconds))} microseconds of a core, on a machine with other work, and ${grouped(String(bytesPerReceipt))} bytes of disk.`,
    [
      figure('Receipts a day'),
      figure('Per second'),
      figure('Share of one core'),
      figure('Disk', 'GB a day'),
      figure('Flushes', 'a second, from to'),
      figure(`${grouped(String(diskBytes / bytesPerGb))} GB last`, 'days'),
    ],
    [...perDay, coreFull].map((receipts) => {
      const rate = receipts / daySeconds
      return [
        whole(receipts),
        rate.toFixed(2),
        `${(rate * cpuMicroseconds * 1e-4).toFixed(2)} %`,
        ((receipts * bytesPerReceipt) / bytesPerGb).toFixed(3),
        `${(rate / groupSize).toFixed(2)} to ${rate.toFixed(2)}`,
        whole(diskBytes / bytesPerReceipt / receipts),
      ]
    }),
  )
}

function gigabytes(bytes: number): string {
  return grouped((bytes / bytesPerGb).toFixed(2))
}

function whole(value: number): string {
  return grouped(String(Math.round(value)))
}
