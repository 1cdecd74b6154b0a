/** The folder of a witness: below `log/`, a copy of the log with the layout of c2sp.org/tlog-tiles. */
import { join } from 'node:path'

import { removePartial } from '../../../builder/log/publish.ts'
import { filesIn } from '../../../builder/publish/public-files.ts'
import { createLogAudit } from '../../../src/client/log-audit.ts'
import type { CheckedLog } from '../../../src/client/log.ts'
import type { Random } from '../../../src/core/deps.ts'
import { parseCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import type { LogEntry } from '../../../src/core/tlog/entry.ts'
import { leafHash } from '../../../src/core/tlog/merkle.ts'
import { logPath } from '../../../src/core/tlog/paths.ts'
import {
  growTiles,
  packEntries,
  tilePath,
  tileWidth,
  unpackEntries,
} from '../../../src/core/tlog/tiles.ts'

export type Mirror = Awaited<ReturnType<typeof openMirror>>

/** Entries are stored in parts of this many tiles, so that few tiles are written that are not full. */
const tilesPerPart = 64

/** Audits the entries that the folder has. @throws Error if one of its files is missing or damaged */
export async function openMirror(dir: string, random: Pick<Random, 'bytes'>) {
  const files = filesIn(dir)
  const audit = createLogAudit(random.bytes(32))
  /** The SHA-256 of each logged manifest by its version. */
  const manifests = new Map<number, string>()
  const note = await checkpoint()
  let size = note === null ? 0 : (parseCheckpoint(note)?.size ?? 0)
  for (let at = 0; at * tileWidth < size; at += 1) {
    for (const bytes of await entriesOf(at)) add(bytes)
  }
  await audit.settle(entriesOf)

  async function checkpoint(): Promise<string | null> {
    return (await files.get(logPath('checkpoint')))?.bytes.toString() ?? null
  }

  async function read(path: string): Promise<Buffer> {
    const file = await files.get(logPath(path))
    if (file !== null) return file.bytes
    throw new Error(`${join(dir, logPath(path))} is missing: begin with an empty folder`)
  }

  async function entriesOf(at: number): Promise<readonly Uint8Array[]> {
    const width = Math.min(tileWidth, size - at * tileWidth)
    return unpackEntries(await read(tilePath({ level: 'entries', at, width })))
  }

  async function write(path: string, bytes: Uint8Array | string): Promise<void> {
    await files.put(logPath(path), Buffer.from(bytes), {})
  }

  function add(bytes: Uint8Array): LogEntry {
    const entry = audit.add(bytes)
    if (entry.kind === 'snapshot') manifests.set(entry.version, entry.sha256)
    return entry
  }

  return {
    checkpoint,
    write,
    manifests: (): ReadonlyMap<number, string> => manifests,
    /** Stores what the folder lacks of a log. `accept` throws for an entry that does not hold. */
    grow: async (
      log: CheckedLog,
      accept: (entries: readonly LogEntry[]) => Promise<unknown>,
    ): Promise<void> => {
      while (size < log.size) {
        const first = Math.floor(size / tileWidth)
        const end = Math.min(log.size, (first + tilesPerPart) * tileWidth)
        const entries: Uint8Array[] = []
        for (let at = first; at * tileWidth < end; at += 1)
          entries.push(...(await log.entriesOf(at)))
        const added = entries.slice(size - first * tileWidth)
        await accept(added.map(add))
        const leaves = added.map((bytes) => leafHash(bytes))
        const stored = growTiles(size, leaves, (tile) => read(tilePath(tile)))
        for (const { hashes, ...tile } of await stored) {
          await write(tilePath(tile), hashes)
          const { level, at, width } = tile
          if (level > 0) continue
          const start = (at - first) * tileWidth
          const some = entries.slice(start, start + width)
          await write(tilePath({ level: 'entries', at, width }), packEntries(some))
        }
        size = end
        await audit.settle(entriesOf)
      }
    },
    /** Stores a checkpoint of what has grown from `olderSize` on. */
    conclude: async (olderSize: number, signed: string): Promise<void> => {
      await write('checkpoint', signed)
      await removePartial(files, olderSize, size)
    },
  }
}
