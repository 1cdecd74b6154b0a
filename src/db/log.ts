/** The log: its queue, its entries in order, and the tiles of their hashes. */
import type { EntryKind } from '../core/tlog/entry.ts'
import { hashLength } from '../core/tlog/merkle.ts'
import type { ReadTile } from '../core/tlog/tiles.ts'
import { findRecord, insertRecord, selectRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

/** An entry without the members that its place in the log decides. */
export interface QueuedEntry {
  readonly kind: EntryKind
  /** Once for each kind: what is queued again is not logged again. */
  readonly id: string
  readonly sha256: string
  readonly subject?: string
  readonly extra?: object
}

/** Called in the transaction of the effect, so that neither is without the other. */
export async function queueEntries(tx: Db, entries: readonly QueuedEntry[]): Promise<void> {
  for (const { kind, id, sha256, subject = null, extra = null } of entries) {
    await insertRecord(tx, 'log_queue', { kind, entryId: id, sha256, subject, extra })
  }
}

export type LoggedEntry = RecordOf<'log_entries'>

export async function findLogged(db: Db, kind: EntryKind, id: string): Promise<LoggedEntry | null> {
  return await findRecord(db, 'log_entries', { kind, entryId: id })
}

/** The canonical JSON of the entries with an index from `from` to before `to`, in order. */
export async function entriesBetween(db: Db, from: number, to: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('log_entries')
    .select('entry')
    .where('position', '>=', from)
    .where('position', '<', to)
    .orderBy('position')
    .execute()
  return rows.map(({ entry }) => entry)
}

export const tilesIn =
  (db: Db): ReadTile =>
  async ({ level, at, width }) => {
    const hashes = (await findRecord(db, 'log_tiles', { level, at }))?.hashes
    if (hashes === undefined || hashes.length < width * hashLength) {
      throw new Error(`tile ${level}/${at} of the log is missing in the database`)
    }
    return hashes.subarray(0, width * hashLength)
  }

export type StoredCheckpoint = RecordOf<'log_checkpoints'>

export async function findCheckpoint(
  db: Db,
  name: StoredCheckpoint['name'],
): Promise<StoredCheckpoint | null> {
  return await findRecord(db, 'log_checkpoints', { name })
}

/** Oldest first. */
export async function queuedEntries(db: Db, limit: number) {
  return await selectRecords(db, 'log_queue').orderBy('seq').limit(limit).execute()
}
