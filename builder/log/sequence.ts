/** Gives what waits in the queue its place in the log. */
import type { NoteSigner } from '../../src/auth/notes.ts'
import { isoTime } from '../../src/core/time.ts'
import { checkpointText } from '../../src/core/tlog/checkpoint.ts'
import { entryBytes, logEntry, parseEntry } from '../../src/core/tlog/entry.ts'
import type { LogEntry } from '../../src/core/tlog/entry.ts'
import { leafHash, rootOf } from '../../src/core/tlog/merkle.ts'
import { formatNote } from '../../src/core/tlog/note.ts'
import { growTiles, nodesOf } from '../../src/core/tlog/tiles.ts'
import type { ReadTile } from '../../src/core/tlog/tiles.ts'
import {
  addEntries,
  dropQueued,
  entriesBetween,
  findCheckpoint,
  lastOfEach,
  putCheckpoint,
  putTile,
  queuedEntries,
  tilesIn,
} from '../../src/db/log.ts'
import type { Db } from '../../src/db/schema.ts'

export const batch = 512

/** Returns the number of new entries. The first run signs a checkpoint in any case. */
export async function sequence(tx: Db, signer: NoteSigner, nowMs: number): Promise<number> {
  const queue = await queuedEntries(tx, batch)
  const signed = await findCheckpoint(tx, 'signed')
  if (queue.length === 0 && signed !== null) return 0
  const size = signed?.size ?? 0
  const entries = await entriesOf(tx, size, nowMs, queue)
  await dropQueued(tx, queue)
  const root = await append(tx, size, entries)
  await putCheckpoint(tx, 'signed', signCheckpoint(signer, size + entries.length, root))
  return entries.length
}

export function signCheckpoint(signer: NoteSigner, size: number, root: Uint8Array) {
  const text = checkpointText({ origin: signer.key.name, size, root })
  return { size, note: formatNote({ text, signatures: [signer.sign(text, null)] }) }
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
  for (const tile of tiles) await putTile(tx, tile)
  const grown = new Map(tiles.map((tile) => [`${tile.level}/${tile.at}`, tile.hashes]))
  const stored = tilesIn(tx)
  const read: ReadTile = async (tile) =>
    grown.get(`${tile.level}/${tile.at}`) ?? (await stored(tile))
  return await rootOf(size + entries.length, nodesOf(size + entries.length, read))
}

async function entriesOf(
  tx: Db,
  size: number,
  nowMs: number,
  queue: Awaited<ReturnType<typeof queuedEntries>>,
): Promise<readonly LogEntry[]> {
  const [last] = size === 0 ? [] : await entriesBetween(tx, size - 1, size)
  const before = last === undefined ? '' : (parseEntry(Buffer.from(last))?.at ?? '')
  const now = isoTime(nowMs)
  // Times never fall, even if the clock is set back.
  const at = before > now ? before : now
  const known = await lastOfEach(tx, queue)
  const previous = new Map<string, number | null>()
  const ids = new Set<string>()
  const entries: LogEntry[] = []
  for (const [place, { kind, entryId: id, sha256, subject, extra }] of queue.entries()) {
    const found = known[place]
    const idKey = `${kind} ${id}`
    // Also true for what a replay has restored.
    if (found === undefined || found.isLogged === 1 || ids.has(idKey)) continue
    ids.add(idKey)
    const chain = subject === null ? null : `${kind} ${subject}`
    const prev = chain === null ? null : (previous.get(chain) ?? found.position)
    if (chain !== null) previous.set(chain, size + entries.length)
    const about = subject === null ? {} : { subject, prev }
    entries.push(logEntry.parse({ v: 1, kind, at, id, sha256, ...about, ...extra }))
  }
  return entries
}
