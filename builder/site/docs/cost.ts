/** `/docs/cost`: what reads and writes cost whoever runs a ledger. Measured figures, and a model of caches in front. */
import { grouped } from '../../../src/core/number-text.ts'
import { codeBlock, links, list, para, section } from '../blocks.ts'
import type { HtmlAndMarkdown } from '../html-and-markdown.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { table } from '../table.ts'
import {
  edge,
  examplePrices,
  measuredOn,
  originPerSecond,
  readKinds,
  readsPerDay,
  writes,
} from './cost-figures.ts'
import { edgeDay } from './edge-cache.ts'
import type { EdgeDay } from './edge-cache.ts'

const bytesPerGb = 1e9
const daySeconds = 86_400

export function costPage(): SitePage {
  return {
    path: '/docs/cost',
    title: 'What it costs to run',
    description:
      'What a million and a billion reads a day ask of a CDN and of the origin, and how many writes fill one machine, with the assumptions.',
    nav: '/docs',
    body: [
      para(
        'Every read is a file with a time to live, so that what the origin does depends on how many documents there are and how old they may be, and hardly on how many readers. Writes are the other way round.',
        'lede',
      ),
      section('reads', 'Reads behind a CDN', readsTable(), para(readsSaid())),
      section(
        'money',
        'In money',
        para(inline`With the reader’s own prices, per day:`),
        codeBlock(formula, 'text'),
        moneyTable(),
      ),
      section('documents', 'What is read', kindsTable()),
      section('assumed', 'What is assumed', list(assumptions())),
      section('writes', 'Writes, until one machine is full', writesTable(), list(aboutWrites())),
      links([
        ['/snapshot.json', 'Every document with its size'],
        ['/docs/limits', 'How often one caller may ask'],
        ['/docs', 'Documentation'],
      ]),
    ],
  }
}

const formula = `cost = reads / 1,000,000 * price of a million reads
     + GB to readers * price of a GB at the edge
     + GB from the origin * price of a GB from the origin`

interface Scenario {
  readonly name: string
  readonly day: EdgeDay
}

const scenarios: readonly Scenario[] = readsPerDay.flatMap((reads) =>
  [false, true].map((hasShield) => ({
    name: `${grouped(String(reads))}, ${hasShield ? 'with' : 'without'} a shield`,
    day: edgeDay(reads, readKinds, { ...edge, hasShield }),
  })),
)

function readsTable(): HtmlAndMarkdown {
  return table({
    id: 'reads-a-day',
    caption: `Expected for one day, ${edge.points} points of presence. A shield is one more cache between them and the origin.`,
    columns: [
      { label: 'Reads a day', sortable: false },
      { label: 'Answered at the edge', kind: 'figure', sortable: false },
      { label: 'To readers', unit: 'GB', kind: 'figure', sortable: false },
      { label: 'To the origin', unit: 'requests', kind: 'figure', sortable: false },
      { label: 'Per second', unit: 'requests', kind: 'figure', sortable: false },
      { label: 'From the origin', unit: 'GB', kind: 'figure', sortable: false },
    ],
    rows: scenarios.map(({ name, day }) => ({
      cells: [
        name,
        `${(day.hitShare * 100).toFixed(2)} %`,
        gigabytes(day.edgeBytes),
        whole(day.originRequests),
        (day.originRequests / daySeconds).toFixed(2),
        gigabytes(day.originBytes),
      ],
    })),
    empty: '',
  })
}

function readsSaid(): string {
  const most = Math.max(...scenarios.map(({ day }) => day.originRequests / daySeconds))
  const share = ((most / originPerSecond) * 100).toFixed(1)
  return `The most of these, ${most.toFixed(0)} requests a second, is ${share} % of what one process answered when it was measured (${grouped(String(originPerSecond))} a second).`
}

function moneyTable(): HtmlAndMarkdown {
  const { perMillionReads, perGb, perOriginGb } = examplePrices
  return table({
    id: 'money-a-day',
    caption: `Example prices, nobody’s: ${perMillionReads} USD for a million reads, ${perGb} USD for a GB at the edge, ${perOriginGb} USD for a GB from the origin.`,
    columns: [
      { label: 'Reads a day', sortable: false },
      { label: 'Reads', unit: 'USD a day', kind: 'figure', sortable: false },
      { label: 'Edge', unit: 'USD a day', kind: 'figure', sortable: false },
      { label: 'Origin', unit: 'USD a day', kind: 'figure', sortable: false },
      { label: 'All', unit: 'USD a day', kind: 'figure', sortable: false },
    ],
    rows: scenarios.map(({ name, day }) => {
      const parts = [
        (day.reads / 1e6) * perMillionReads,
        (day.edgeBytes / bytesPerGb) * perGb,
        (day.originBytes / bytesPerGb) * perOriginGb,
      ]
      const all = parts.reduce((total, part) => total + part, 0)
      return { cells: [name, ...[...parts, all].map((usd) => grouped(usd.toFixed(2)))] }
    }),
    empty: '',
  })
}

function kindsTable(): HtmlAndMarkdown {
  return table({
    id: 'kinds-of-reads',
    caption: `Sizes measured on ${measuredOn}. The share of the reads is assumed, the time to live is the one that is served.`,
    columns: [
      { label: 'Kind', sortable: false },
      { label: 'Share', kind: 'figure', sortable: false },
      { label: 'Documents', kind: 'figure', sortable: false },
      { label: 'Plain', unit: 'bytes', kind: 'figure', sortable: false },
      { label: 'As sent', unit: 'bytes', kind: 'figure', sortable: false },
      { label: 'max-age', unit: 's', kind: 'figure', sortable: false },
      { label: 'Changes', unit: 'a day', kind: 'figure', sortable: false },
    ],
    rows: readKinds.map((kind) => ({
      cells: [
        kind.name,
        `${(kind.share * 100).toFixed(0)} %`,
        String(kind.documents),
        whole(kind.plainBytes),
        whole(kind.bodyBytes),
        String(kind.maxAgeSeconds),
        grouped(String(kind.changesPerDay)),
      ],
    })),
    empty: '',
  })
}

function assumptions() {
  return [
    'Reads come independently of each other (Poisson) and evenly over the day, the documents of a kind and the points of presence. Any other spread leaves fewer requests for the origin.',
    inline`A point keeps what it has until its ${code('max-age')} is over, counted with the ${code('Age')} of a copy from the shield, and then asks with ${code('If-None-Match')}: only what has changed meanwhile is sent whole. What nobody has read for ${edge.keepsSeconds / 3600} hours is forgotten.`,
    inline`${code('stale-while-revalidate')} spares readers the wait, and the origin nothing: each copy is asked for as often.`,
    `An answer has ${grouped(String(edge.headerBytes))} bytes of headers. Readers take brotli and never ask whether their own copy is still good; those that do cost less.`,
    'Not counted: TLS, retries, bots that ask for addresses that do not exist, pictures, and reads that are signed or paid, which no cache may keep.',
  ]
}

function writesTable(): HtmlAndMarkdown {
  const { bytesPerReceipt, cpuMicroseconds, groupSize, diskBytes } = writes
  const perSecond = Math.floor(1e6 / cpuMicroseconds)
  const days = [...writes.perDay, perSecond * daySeconds]
  return table({
    id: 'writes-a-day',
    caption: `Signed receipts. Measured on ${measuredOn}: ${grouped(String(cpuMicroseconds))} microseconds of a core on a machine that had other work, and ${grouped(String(bytesPerReceipt))} bytes of disk, for each.`,
    columns: [
      { label: 'Receipts a day', kind: 'figure', sortable: false },
      { label: 'Per second', kind: 'figure', sortable: false },
      { label: 'Of one core', kind: 'figure', sortable: false },
      { label: 'Disk', unit: 'GB a day', kind: 'figure', sortable: false },
      { label: 'Flushes', unit: 'a second, from to', kind: 'figure', sortable: false },
      {
        label: `${grouped(String(diskBytes / bytesPerGb))} GB last`,
        unit: 'days',
        kind: 'figure',
        sortable: false,
      },
    ],
    rows: days.map((receipts) => {
      const rate = receipts / daySeconds
      const gbPerDay = (receipts * bytesPerReceipt) / bytesPerGb
      return {
        cells: [
          whole(receipts),
          rate.toFixed(2),
          `${(rate * cpuMicroseconds * 1e-4).toFixed(2)} %`,
          gbPerDay.toFixed(3),
          `${(rate / groupSize).toFixed(2)} to ${rate.toFixed(2)}`,
          whole(diskBytes / bytesPerReceipt / receipts),
        ],
      }
    }),
    empty: '',
  })
}

function aboutWrites() {
  return [
    `The last row is one core with nothing else to do, which is what one service can use of a machine of two while a builder has the other. Receipts that arrive together share a flush, ${writes.groupSize} at most where as many callers wait; one that arrives alone has its own.`,
    'The disk fills before anything else does: nothing of what was signed is ever thrown away. Snapshots and their history come on top and grow with what changes, not with what is written.',
    inline`How it was measured, and what that does not show, stands beside the benchmarks: ${code('npm run bench -- writes start')}.`,
    inline`One caller cannot fill it: ${link('/docs/limits', 'limits')} bound what a wallet and a network may write in a day.`,
  ]
}

function gigabytes(bytes: number): string {
  return grouped((bytes / bytesPerGb).toFixed(2))
}

function whole(value: number): string {
  return grouped(String(Math.round(value)))
}
