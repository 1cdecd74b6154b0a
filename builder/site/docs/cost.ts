/** Tables of the cost page: costs of reads, writes and stored rows, from measurements and a model of caches. */
import { grouped } from '../../../src/core/number-text.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, figureColumn, table } from '../../../src/pages/table.ts'
import costs from './cost.json' with { type: 'json' }

const { days, edgeCache, examplePrices, measuredOn, reads, receipts, rows, writes } = costs
const bytesPerGb = 1e9
const daySeconds = 86_400

export const originPeakPerSecond =
  Math.max(...days.map(({ originRequests }) => originRequests)) / daySeconds

const { perMillionReads, perGb, perOriginGb } = examplePrices
const { cpuMicroseconds, diskBytes, perDay } = writes
const bytesPerReceipt = rows
  .filter(({ kept }) => kept === 'forever')
  .reduce(
    (sum, { sqliteBytes, rows }) => sum + (sqliteBytes * rows) / receipts.atScale,
    writes.publishedBytes,
  )

export const costTables = {
  'cost-reads': () =>
    table(days, {
      id: 'reads-a-day',
      caption: `Expected for one day with ${edgeCache.points} points of presence. A shield is an additional cache between them and the origin. The prices are examples and not those of a provider: ${perMillionReads} USD for a million reads, ${perGb} USD for a GB at the edge, ${perOriginGb} USD for a GB from the origin.`,
      sortable: false,
      columns: [
        column('Reads a day', ({ name }) => name),
        figureColumn('Served at the edge', null, ({ hitShare }) => `${decimal(hitShare * 100)} %`),
        figureColumn('To readers', 'GB', ({ edgeBytes }) => decimal(edgeBytes / bytesPerGb)),
        figureColumn('To the origin', 'requests a second', ({ originRequests }) =>
          decimal(originRequests / daySeconds),
        ),
        figureColumn('From the origin', 'GB', ({ originBytes }) =>
          decimal(originBytes / bytesPerGb),
        ),
        figureColumn('Example', 'USD a day', ({ reads, edgeBytes, originBytes }) =>
          decimal(
            (reads / 1e6) * perMillionReads +
              (edgeBytes * perGb + originBytes * perOriginGb) / bytesPerGb,
          ),
        ),
      ],
    }),
  'cost-documents': () =>
    table(reads, {
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
    }),
  'cost-storage': () =>
    table(rows, {
      id: 'bytes-of-rows',
      caption: `Bytes of a row with its index entries, measured on 2026-11-23 on ${whole(receipts.measured)} receipts that the service accepted (log: invented receipts), and rows of ${whole(receipts.atScale)} receipts and of a day with 1,000 writes a second.`,
      sortable: false,
      columns: [
        column('Row', ({ name }) => name),
        column('Kept', ({ kept }) => kept),
        figureColumn('SQLite', 'bytes', ({ sqliteBytes }) => whole(sqliteBytes)),
        figureColumn('PostgreSQL', 'bytes', ({ postgresBytes }) => whole(postgresBytes)),
        figureColumn('Rows', null, ({ rows }) => whole(rows)),
        figureColumn('PostgreSQL', 'GB', ({ rows, postgresBytes }) =>
          decimal((rows * postgresBytes) / bytesPerGb),
        ),
      ],
    }),
  'cost-writes': () =>
    table(perDay, {
      id: 'writes-a-day',
      caption: `Signed receipts, measured on ${writes.measuredOn} with SQLite: each took ${whole(cpuMicroseconds)} microseconds of a core, on a machine with other work, and ${whole(bytesPerReceipt)} bytes of disk.`,
      sortable: false,
      columns: [
        figureColumn('Receipts a day', null, whole),
        figureColumn('Per second', null, (receipts) => decimal(receipts / daySeconds)),
        figureColumn('Share of one core', null, (receipts) => {
          return `${decimal((receipts / daySeconds) * cpuMicroseconds * 1e-4)} %`
        }),
        figureColumn('Disk', 'GB a day', (receipts) => {
          return ((receipts * bytesPerReceipt) / bytesPerGb).toFixed(3)
        }),
        figureColumn(`${whole(diskBytes / bytesPerGb)} GB last`, 'days', (receipts) =>
          whole(diskBytes / bytesPerReceipt / receipts),
        ),
      ],
    }),
} satisfies Record<string, () => HtmlAndMarkdown>

function decimal(value: number): string {
  return grouped(value.toFixed(2))
}

function whole(value: number): string {
  return grouped(String(Math.round(value)))
}
