/**
 * Inputs of the cost page. Sizes were measured on a set of 60 rails with ninety days of polls, 334 workers and 334
 * receipts, in the encodings served. The sizes are constants, so that the page does not change with every build.
 */
import { maxAgeOf } from '../../../src/contract/routes.ts'

export const measuredOn = '2026-11-21'

const pageMaxAgeSeconds = 300
/** Number of changes per day of a document that changes with polls, or with writes. */
const withPolls = 4
const withWrites = 24 * 60

const measuredReads = [
  ['All rails, JSON', 0.25, 1, 117_886, 22_505, maxAgeOf('listRails'), withPolls],
  ['One rail, JSON', 0.2, 60, 1963, 844, maxAgeOf('getRail'), withPolls],
  ['Opportunities', 0.1, 1, 1567, 492, maxAgeOf('listOpportunities'), withPolls],
  ['Live aggregate', 0.1, 1, 292, 292, maxAgeOf('getStatsLive'), withWrites],
  ['History of a rail', 0.05, 60, 108_123, 11_153, maxAgeOf('getRailHistory'), withPolls],
  ['Leaderboard', 0.05, 1, 635, 635, maxAgeOf('getLeaderboard'), withWrites],
  ['Newest receipts', 0.05, 1, 180_612, 6652, maxAgeOf('listReceipts'), withWrites],
  ['Page of a rail', 0.08, 60, 37_723, 6649, pageMaxAgeSeconds, withPolls],
  ['Page of a rail, Markdown', 0.05, 60, 6253, 1951, pageMaxAgeSeconds, withPolls],
  ['Home page', 0.04, 1, 126_246, 5355, pageMaxAgeSeconds, withWrites],
  ['OpenAPI', 0.03, 1, 300_539, 23_578, maxAgeOf('getOpenApi'), 0.1],
] as const

export const readKinds = measuredReads.map(
  ([name, share, documents, plainBytes, bodyBytes, maxAgeSeconds, changesPerDay]) => {
    return { name, share, documents, plainBytes, bodyBytes, maxAgeSeconds, changesPerDay }
  },
)

export const edgeCache = { points: 100, keepsSeconds: 86_400, headerBytes: 1100 } as const

export const readsPerDay = [1e6, 1e9] as const

/** Examples in USD, to be replaced by the reader's own prices. */
export const examplePrices = { perMillionReads: 0.6, perGb: 0.02, perOriginGb: 0.08 } as const

/** Responses per second with the largest document above, by one process on two cores shared with the load generator. */
export const originPerSecond = 16_000

/** Receipts issued by a platform and submitted by a plain wallet, including their reputation entry. */
export const writes = {
  /** CPU time per receipt of all threads of the service; other work on the machine raised the measured figure. */
  cpuMicroseconds: 920,
  /** Concurrent callers during the measurement, and the most receipts that share a flush. */
  groupSize: 64,
  diskBytes: 1e12,
  perDay: [1000, 100_000, 10_000_000, 86_400_000],
  /** Of the three entries of a receipt, in full tiles of the published log. */
  publishedBytes: 860,
} as const

export const receipts = { measured: 60_000, atScale: 1e8 } as const
export const forGood = 'forever'

/**
 * Bytes with index entries, for the log also with its tiles: by `dbstat` of SQLite, and by `pg_total_relation_size` of
 * PostgreSQL 17 with the same rows.
 */
const measuredRows = [
  ['Receipt', forGood, 1409, 1622, receipts.atScale],
  ['Reputation entry, two for a receipt', forGood, 634, 868, 2 * receipts.atScale],
  ['Entry of the log, three for a receipt', forGood, 542, 649, 3 * receipts.atScale],
  ['Scheduled review of a payer', '60 days at most', 228, 246, receipts.atScale],
  ['Signed message', '10 minutes', 386, 419, 600_000],
  ['First answer of a write with a key', 'a day', 708, 719, 86_400_000],
  ['Idempotency key', 'a day', 324, 361, 86_400_000],
] as const

export const rowKinds = measuredRows.map(([name, kept, sqliteBytes, postgresBytes, rows]) => {
  return { name, kept, sqliteBytes, postgresBytes, rows }
})
