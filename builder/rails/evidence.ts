/** Collects what a poll reads, and stores it with the bundle that names it. */
import { z } from 'zod'

import type { ChainReader } from '../../src/chain/reader.ts'
import { version } from '../../src/contract/version.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { digestOf, pack } from '../../src/core/evidence.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { saveEvidence } from '../../src/db/evidence.ts'
import type { EvidenceDocument } from '../../src/db/evidence.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { loadHourlyAggregate, saveHourlyAggregate, historyOf } from '../../src/db/polls.ts'
import { deleteRecords } from '../../src/db/records.ts'
import type { Db, DbTransaction } from '../../src/db/schema.ts'
import type { Http } from '../../src/outbound/http.ts'
import type { LogFilter } from '../chain/logs.ts'
import type { Payout } from './payouts.ts'
import type { Window } from './window.ts'

export const rowsKeptMs = 35 * dayMs
const maxRowsLength = 1024 * 1024

/** The chunks that no bundle names yet, by their first block instead of the hour. */
const stream = 'evidence'
const storedChunk = z.object({
  input: z.object({ at: z.string() }).catchall(z.json()),
  prices: z.array(z.json()),
})

interface ReadChunk {
  readonly reader: Pick<ChainReader, 'name' | 'knownHash'>
  readonly filters: readonly LogFilter[]
  readonly fromBlock: number
  readonly toBlock: number
  readonly payouts: readonly Payout[]
  readonly prices: readonly object[]
}

export type EvidenceCollector = ReturnType<typeof collectEvidence>
/** Receives from adapters what they read. */
export type PollEvidence = Pick<EvidenceCollector, 'addChunk' | 'list' | 'setReading'>

export function collectEvidence(
  rail: string,
  database: OpenDatabase,
  { endMs, start30dMs }: Window,
) {
  const rowsKeptUntil = isoTime(endMs + rowsKeptMs)
  const documents = new Map<string, EvidenceDocument>()
  const answers: object[] = []
  const lists: Record<string, string> = {}
  let buckets: string | null = null
  const keep = (body: string, keptUntil: string | null): string => {
    const sha256 = digestOf(body)
    documents.set(sha256, { sha256, body, keptUntil })
    return sha256
  }
  const keepPacked = (value: unknown, until: string | null): string => {
    const packed = pack(value, (part) => keep(part, until))
    return keep(packed, until)
  }
  return {
    /** Reads a list on which the rest of the reading depends. A check takes it from the evidence instead. */
    list: async <List>(name: string, read: () => List | Promise<List>): Promise<List> => {
      const list = await read()
      lists[name] = keepPacked(list, null)
      return list
    },
    addChunk: async ({ reader, filters, fromBlock, toBlock, payouts, prices }: ReadChunk) => {
      const lines = linesOf(payouts)
      const body = JSON.stringify(lines)
      const rows = body.length > maxRowsLength ? null : keep(body, rowsKeptUntil)
      const chunk = {
        input: {
          chain: reader.name,
          filters: keepPacked(filters, rowsKeptUntil),
          from: { number: fromBlock, hash: reader.knownHash(fromBlock) },
          to: { number: toBlock, hash: reader.knownHash(toBlock) },
          count: lines.length,
          rows_digest: digestOf(lines.join('\n')),
          rows,
          lists: { ...lists },
          at: isoTime(endMs),
        },
        prices,
      }
      const named = [...documents.values()]
      await database.write(async (tx) => {
        await saveEvidence(tx, named)
        // A chunk that is read again after a crash replaces the former one.
        const buckets = [{ hour: fromBlock, body: chunk }]
        await saveHourlyAggregate(tx, rail, stream, { cursor: null, buckets })
      })
      for (const { sha256 } of named) documents.delete(sha256)
    },
    /** Aggregates are kept forever. */
    setReading: (reading: unknown, isAggregate: boolean) => {
      buckets = keepPacked(reading, isAggregate ? null : rowsKeptUntil)
    },
    watch: ({ json }: Http): Http => ({
      json: async (url, request) => {
        const answer = await json(url, request)
        const { url: of, readFrom: read_from, overridden, sha256, bytes } = answer
        answers.push({ url: of, read_from, overridden, sha256, bytes })
        return answer
      },
    }),
    /** Returns the SHA-256 of the bundle. */
    save: async (tx: DbTransaction, facts: object): Promise<string> => {
      const [last] = await historyOf(tx, rail, { limit: 1 })
      const chunks = await chunksOf(tx, rail)
      await deleteRecords(tx, 'hourly_aggregates', { rail, stream })
      const logs = chunks.map(({ input }) => input)
      const bundle = {
        v: 1,
        rail,
        ...facts,
        window: { from: isoTime(start30dMs), to: isoTime(endMs) },
        previous: last?.bundle ?? null,
        inputs: [...answers.map((answer) => ({ ...answer, rows: buckets })), ...logs],
        lists,
        prices: chunks.flatMap(({ prices }) => prices),
        buckets,
        code: { version },
      }
      const sha256 = keep(canonicalize(bundle), null)
      await saveEvidence(tx, documents.values())
      return sha256
    },
  }
}

/** In the order of reading: the later input counts where blocks were read again. */
async function chunksOf(db: Db, rail: string) {
  const { buckets } = await loadHourlyAggregate(db, rail, stream, 0)
  return buckets
    .map(({ body }) => storedChunk.parse(body))
    .sort((a, b) => Date.parse(a.input.at) - Date.parse(b.input.at))
}

/** `block,logIndex,tx,payer,payee,units,removedBy`, sorted: any node gives the same lines. */
export function linesOf(payouts: readonly Payout[]): readonly string[] {
  return payouts
    .map(({ block, logIndex, txHash, payer, payee, units = 1n, removedBy }) =>
      [block, logIndex, txHash, payer, payee, units, removedBy].join(','),
    )
    .sort()
}
