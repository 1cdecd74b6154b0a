/** Assigns queued entries their index in the log. */
import { isDeepStrictEqual } from 'node:util'

import { signCheckpoint } from '../../src/auth/notes.ts'
import type { NoteSigner } from '../../src/auth/notes.ts'
import { isoTime } from '../../src/core/time.ts'
import { entryBytes, logEntry, parseEntry } from '../../src/core/tlog/entry.ts'
import type { LogEntry } from '../../src/core/tlog/entry.ts'
import { leafHash, rootOf } from '../../src/core/tlog/merkle.ts'
import { growTiles } from '../../src/core/tlog/tiles.ts'
import type { ReadTile } from '../../src/core/tlog/tiles.ts'
import {
  addEntries,
  entriesBetween,
  findCheckpoint,
  lastOfEach,
  nodesIn,
  putCheckpoint,
  queuedEntries,
  tilesIn,
} from '../../src/db/log.ts'
import { deleteRecords, putRecord } from '../../src/db/records.ts'
import type { Db } from '../../src/db/schema.ts'

export const batch = 512

/**
 * Logs queued rows after the number `after`. Returns their count, the last number, the new checkpoint, and the ids of rows
 * that the log contains with different content, which stay queued.
 */
export async function sequence(tx: Db, signer: NoteSigner, nowMs: number, after: number) {
  const queue = await queuedEntries(tx, batch, after)
  const taken = queue.length
  const last = queue.at(-1)?.seq ?? after
  if (taken === 0) return { taken, last, conflicts: [], signed: null }
  const size = (await findCheckpoint(tx, 'signed'))?.size ?? 0
  const { entries, done, conflicts } = await entriesOf(tx, size, nowMs, queue)
  await deleteRecords(tx, 'log_queue', { seq: done.map(({ seq }) => seq) })
  const root = await append(tx, size, entries)
  const signed = signCheckpoint(signer, size + entries.length, root)
  await putCheckpoint(tx, 'signed', signed)
  return { taken, last, conflicts, signed }
}

/** Stores entries that follow the first `size`. Returns the new root. */
export async function append(
  tx: Db,
  size: number,
  entries: readonly LogEntry[],
): Promise<Uint8Array> {
  const leaves = entries.map((entry) => leafHash(entryBytes(entry)))
  const tiles = await growTiles(size, leaves, tilesIn(tx))
  await addEntries(tx, size, entries)
  for (const { level, at, hashes } of tiles) {
    await putRecord(tx, 'log_tiles', { level, at, hashes: Buffer.from(hashes) }, 'level', 'at')
  }
  const grown = new Map(tiles.map((tile) => [`${tile.level}/${tile.at}`, tile.hashes]))
  const stored = tilesIn(tx)
  const read: ReadTile = async (tile) =>
    grown.get(`${tile.level}/${tile.at}`) ?? (await stored(tile))
  return await rootOf(size + entries.length, nodesIn(tx, size + entries.length, read))
}

async function entriesOf(tx: Db, size: number, nowMs: number, queue: readonly QueuedRow[]) {
  const before = (await lastTime(tx, size)) ?? ''
  const now = isoTime(nowMs)
  // Times never decrease, even if the clock is set back.
  const at = before > now ? before : now
  const known = await lastOfEach(tx, queue)
  const previous = new Map<string, number | null>()
  const added = new Map<string, LogEntry>()
  const entries: LogEntry[] = []
  const conflicts: string[] = []
  const done: QueuedRow[] = []
  for (const [place, row] of queue.entries()) {
    const { kind, entryId: id, subject } = row
    const { position = null, logged = null } = known[place] ?? {}
    const content = contentOf(row)
    const idKey = `${kind} ${id}`
    // A replay may have restored the entry.
    const former = logged === null ? added.get(idKey) : parseEntry(Buffer.from(logged))
    if (former !== undefined) {
      if (hasContent(former, content)) done.push(row)
      else conflicts.push(idKey)
      continue
    }
    done.push(row)
    const chain = subject === null ? null : `${kind} ${subject}`
    const prev = chain === null ? null : (previous.get(chain) ?? position)
    if (chain !== null) previous.set(chain, size + entries.length)
    const entry = logEntry.parse({ ...content, at, ...(chain === null ? {} : { prev }) })
    added.set(idKey, entry)
    entries.push(entry)
  }
  return { entries, done, conflicts }
}

/** The time of the last entry; null in an empty log. */
export async function lastTime(db: Db, size: number): Promise<string | null> {
  const [last] = size === 0 ? [] : await entriesBetween(db, size - 1, size)
  return last === undefined ? null : (parseEntry(Buffer.from(last))?.at ?? null)
}

type QueuedRow = Awaited<ReturnType<typeof queuedEntries>>[number]

function contentOf({ kind, entryId: id, sha256, subject, extra }: QueuedRow): object {
  return { v: 1, kind, id, sha256, ...(subject === null ? {} : { subject }), ...extra }
}

function hasContent(entry: LogEntry | null, content: object): boolean {
  const { at: _, prev: _prev, ...known } = entry ?? {}
  return isDeepStrictEqual(known, content)
}

/** Drops queued rows that contradict a logged entry. Returns them. */
export async function dropConflicts(tx: Db): Promise<readonly QueuedRow[]> {
  const dropped: QueuedRow[] = []
  for (let [taken, after] = [batch, 0]; taken === batch;) {
    const rows = await queuedEntries(tx, batch, after)
    const known = await lastOfEach(tx, rows)
    for (const [place, row] of rows.entries()) {
      const logged = known[place]?.logged ?? null
      if (logged === null || hasContent(parseEntry(Buffer.from(logged)), contentOf(row))) continue
      dropped.push(row)
    }
    taken = rows.length
    after = rows.at(-1)?.seq ?? after
  }
  await deleteRecords(tx, 'log_queue', { seq: dropped.map(({ seq }) => seq) })
  return dropped
}
