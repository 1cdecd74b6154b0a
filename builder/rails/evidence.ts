/** Collects what a poll reads, and stores it with the bundle that names it. */
import { z } from 'zod'

import { sha256Hex } from '../../src/auth/messages.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { version } from '../../src/contract/version.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { pack } from '../../src/core/evidence.ts'
import type { LookUpReading } from '../../src/core/evidence.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { saveEvidence } from '../../src/db/evidence.ts'
import type { EvidenceDocument } from '../../src/db/evidence.ts'
import { loadHourlyAggregate, saveHourlyAggregate, historyOf } from '../../src/db/polls.ts'
import { deleteRecords } from '../../src/db/records.ts'
import type { Db, DbTransaction } from '../../src/db/schema.ts'
import type { Http, HttpAnswer } from '../../src/outbound/http.ts'
import type { LogFilter } from '../chain/logs.ts'
import { lookUpStream, transfersKeptMs } from './looked-up.ts'
import type { LookUpWallets } from './looked-up.ts'
import { linesOf } from './payout-lines.ts'
import type { StreamPayouts } from './payout-lines.ts'
import type { Payout } from './payouts.ts'
import type { FeedPrice } from './streams.ts'
import type { Window } from './window.ts'

const rowsKeptMs = 35 * dayMs
/** Answers are kept as they came if all those of a poll together have at most this length. */
const maxAnswersLength = 1024 * 1024
const answersKeptMs = dayMs
const lookUpsKeptMs = transfersKeptMs + 4 * dayMs
const maxLookUpLines = 5_000

/** The chunks that no bundle names yet, by their first block or a digest instead of the hour. */
const stream = 'evidence'
const lookUpChunks = 'look_up_evidence'
const storedChunk = z.object({
  input: z.object({ at: z.string() }).catchall(z.json()),
  prices: z.array(z.json()),
})

interface ReadBlocks {
  readonly reader: Pick<ChainReader, 'name' | 'knownHash'>
  readonly filters: readonly LogFilter[]
  readonly fromBlock: number
  readonly toBlock: number
}

interface ReadChunk {
  /** What was read: blocks, or the newest unread transactions of a Solana wallet up to a signature. */
  readonly source: ReadBlocks | { readonly wallet: string; readonly to: string }
  readonly payouts: StreamPayouts
  readonly prices?: readonly FeedPrice[]
  /** Keys for later chunks. */
  readonly remembered?: readonly string[]
}

type LookUpChunk = Pick<LookUpReading, 'chain' | 'from' | 'head' | 'to'> & {
  readonly wallets: LookUpWallets
}

/** Where a list comes from: those of `answers` are kept as long as rows, and a check compares those of `chain` with a node. */
export type ListSource = 'answers' | 'chain' | 'derived'

export type EvidenceCollector = ReturnType<typeof collectEvidence>
/** Receives from adapters what they read. */
export type PollEvidence = Pick<EvidenceCollector, 'addChunk' | 'addLookUp' | 'list' | 'setReading'>

export function collectEvidence(rail: string, { endMs, start30dMs }: Window) {
  const rowsKeptUntil = isoTime(endMs + rowsKeptMs)
  const lookUpsKeptUntil = isoTime(endMs + lookUpsKeptMs)
  const documents = new Map<string, EvidenceDocument>()
  const answers: (Pick<HttpAnswer, 'bytes' | 'overridden' | 'sha256' | 'url'> & {
    readonly read_from: string
  })[] = []
  const texts = new Map<string, string>()
  let answersLength = 0
  const lists: Record<string, string> = {}
  let buckets: string | null = null
  const keep = (body: string, keptUntil: string | null): string => {
    const sha256 = sha256Hex(body)
    const before = documents.get(sha256)?.keptUntil
    const isLater =
      before === undefined || keptUntil === null || (before !== null && keptUntil > before)
    if (isLater) documents.set(sha256, { sha256, body, keptUntil })
    return sha256
  }
  const keepPacked = (value: unknown, until: string | null): string => {
    const packed = pack(value, (part) => keep(part, until))
    return keep(packed, until)
  }
  const linesInput = (payouts: StreamPayouts, keptUntil: string, maxLines = Infinity) => {
    const lines = linesOf(payouts)
    return {
      count: lines.length,
      rows_digest: sha256Hex(lines.join('\n')),
      rows: lines.length > maxLines ? null : keepPacked(lines, keptUntil),
      at: isoTime(endMs),
    }
  }
  /** Blocks that are read again after a failure replace the former reading. */
  const saverOf = (name: string, hour: number, body: unknown) => {
    const named = [...documents.values()]
    return async (tx: DbTransaction): Promise<void> => {
      await saveEvidence(tx, named)
      await saveHourlyAggregate(tx, rail, name, { cursor: null, buckets: [{ hour, body }] })
      for (const { sha256 } of named) documents.delete(sha256)
    }
  }
  return {
    /** Reads a list on which the rest of the reading depends. A check compares it, or takes it from the evidence. */
    list: async <List>(
      name: string,
      read: () => List | Promise<List>,
      source: ListSource = 'derived',
    ): Promise<List> => {
      const list = await read()
      lists[name] = keepPacked(list, source === 'answers' ? rowsKeptUntil : null)
      return list
    },
    /** Returns what saves it, so that it is saved together with the cursor. */
    addChunk: ({ source, payouts, prices = [], remembered = [] }: ReadChunk) => {
      const input = {
        ...placeOf(source, (filters) => keepPacked(filters, rowsKeptUntil)),
        ...linesInput(payouts, rowsKeptUntil),
        remembered: remembered.length === 0 ? null : keepPacked(remembered, rowsKeptUntil),
        lists: { ...lists },
      }
      return saverOf(stream, keyOf(source), { input, prices })
    },
    /** As `addChunk`, with the transfers that no other reading contains. */
    addLookUp: ({ wallets, ...place }: LookUpChunk, transfers: readonly Payout[]) => {
      const reading = {
        ...place,
        wallets: keepPacked(wallets, lookUpsKeptUntil),
        ...linesInput(new Map([[lookUpStream, transfers]]), lookUpsKeptUntil, maxLookUpLines),
      }
      return saverOf(lookUpChunks, shortKey(`${reading.wallets} ${place.from}`), reading)
    },
    /** Aggregates are kept forever. */
    setReading: (reading: unknown, isAggregate: boolean) => {
      buckets = keepPacked(reading, isAggregate ? null : rowsKeptUntil)
    },
    watch: ({ json }: Http): Http => ({
      json: async (url, request) => {
        const answer = await json(url, request)
        const { url: of, readFrom: read_from, overridden, sha256, bytes, text } = answer
        answers.push({ url: of, read_from, overridden, sha256, bytes })
        // Databases refuse NUL characters.
        if (answersLength <= maxAnswersLength && !text.includes('\0')) texts.set(sha256, text)
        answersLength += bytes
        return answer
      },
    }),
    /** Returns the SHA-256 of the bundle. */
    save: async (tx: DbTransaction, facts: object): Promise<string> => {
      const keptUntil = isoTime(endMs + answersKeptMs)
      if (answersLength > maxAnswersLength) texts.clear()
      for (const body of texts.values()) keep(body, keptUntil)
      const [last] = await historyOf(tx, rail, { limit: 1 })
      const chunks = await chunksOf(tx, rail)
      const lookUps = await loadHourlyAggregate(tx, rail, lookUpChunks, 0)
      const readings = lookUps.buckets.map(({ body }) => body)
      for (const read of [stream, lookUpChunks])
        await deleteRecords(tx, 'hourly_aggregates', { rail, stream: read })
      const logs = chunks.map(({ input }) => input)
      const bundle = {
        v: 2,
        rail,
        ...facts,
        window: { from: isoTime(start30dMs), to: isoTime(endMs) },
        previous: last?.bundle ?? null,
        inputs: [
          ...answers.map((answer) => ({
            ...answer,
            kept_until: texts.has(answer.sha256) ? keptUntil : null,
            rows: buckets,
          })),
          ...logs,
        ],
        lists,
        look_ups: readings.length === 0 ? null : keepPacked(readings, lookUpsKeptUntil),
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

function placeOf(source: ReadChunk['source'], keepFilters: (filters: unknown) => string) {
  if ('wallet' in source) return { chain: 'solana', ...source }
  const { reader, filters, fromBlock, toBlock } = source
  return {
    chain: reader.name,
    filters: keepFilters(filters),
    from: { number: fromBlock, hash: reader.knownHash(fromBlock) },
    to: { number: toBlock, hash: reader.knownHash(toBlock) },
  }
}

function keyOf(source: ReadChunk['source']): number {
  return 'wallet' in source ? shortKey(`${source.wallet} ${source.to}`) : source.fromBlock
}

function shortKey(text: string): number {
  return parseInt(sha256Hex(text).slice(0, 12), 16)
}
