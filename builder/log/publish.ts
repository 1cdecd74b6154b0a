/** Publishes the log next to the sets: tiles first, so that a checkpoint never covers a tile that readers lack. */
import { immutable } from '../../src/core/documents.ts'
import { checkpointHeaders, logPath } from '../../src/core/tlog/paths.ts'
import { newTiles, packEntries, tilePath, tileWidth } from '../../src/core/tlog/tiles.ts'
import type { Tile } from '../../src/core/tlog/tiles.ts'
import { entriesBetween, putCheckpoint, tilesIn } from '../../src/db/log.ts'
import type { StoredCheckpoint } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { PublicFiles } from '../publish/store/store.ts'

export interface PublishLogDeps {
  /** Its writes store nothing after another builder has taken the lease. */
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  readonly files: Pick<PublicFiles, 'list' | 'put' | 'remove'>
  readonly beforeStep?: (step: string) => void
}

const tileHeaders = { 'content-type': 'application/octet-stream', 'cache-control': immutable }

type Checkpoint = Omit<StoredCheckpoint, 'name'>

/** Publishes the entries after `seen`, the size that readers see. Returns the new size; null if there is no log yet. */
export async function publishLog(
  deps: PublishLogDeps,
  seen: number | null,
  signed: Checkpoint | null,
): Promise<number | null> {
  const { database, files, beforeStep: step } = deps
  if (signed === null || signed.size === seen) return seen
  for (const tile of newTiles(seen ?? 0, signed.size)) {
    for (const { path, bytes } of await filesOf(database, tile)) {
      step?.(`publish ${path}`)
      await files.put(path, bytes, tileHeaders)
    }
  }
  await publishCheckpoint(deps, signed)
  await removePartial(files, seen ?? 0, signed.size)
  return signed.size
}

/** The files of its tiles must be durable. */
export async function publishCheckpoint(
  { database, files, beforeStep: step }: PublishLogDeps,
  { size, note }: Checkpoint,
): Promise<void> {
  step?.('publish the checkpoint')
  await files.put(logPath('checkpoint'), Buffer.from(note), checkpointHeaders)
  step?.('record the checkpoint')
  await database.write((tx) => putCheckpoint(tx, 'published', { size, note }))
}

async function filesOf({ reader }: Pick<OpenDatabase, 'reader'>, tile: Tile) {
  const { level, at, width } = tile
  const hashes = { path: logPath(tilePath(tile)), bytes: await tilesIn(reader)(tile) }
  if (level > 0) return [hashes]
  const start = at * tileWidth
  const texts = await entriesBetween(reader, start, start + width)
  const bytes = packEntries(texts.map((text) => Buffer.from(text)))
  return [{ path: logPath(tilePath({ level: 'entries', at, width })), bytes }, hashes]
}

/**
 * Readers of an older checkpoint read the full tile instead of its partial ones. The partial tiles of the newest full tile
 * stay, for readers that have just started.
 */
async function removePartial(
  files: Pick<PublicFiles, 'list' | 'remove'>,
  from: number,
  size: number,
): Promise<void> {
  for (
    let [level, span] = [0, tileWidth];
    span <= size;
    [level, span] = [level + 1, span * tileWidth]
  ) {
    for (
      let at = Math.max(0, Math.floor(from / span) - 1);
      at < Math.floor(size / span) - 1;
      at += 1
    ) {
      for (const kind of level === 0 ? ([level, 'entries'] as const) : [level]) {
        const one = logPath(tilePath({ level: kind, at, width: 1 }))
        const dir = one.slice(0, one.lastIndexOf('/') + 1)
        for (const key of (await files.list(dir)).keys()) await files.remove(key)
      }
    }
  }
}
