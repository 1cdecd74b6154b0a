import { parseTime } from '../core/time.ts'
import type { OpenDatabase } from './open.ts'
import { deleteRecords, findRecord, putRecord } from './records.ts'
import type { Db } from './schema.ts'

export async function getMeta(db: Db, key: string): Promise<string | null> {
  return (await findRecord(db, 'meta', { key }))?.value ?? null
}

export async function setMeta(db: Db, key: string, value: string): Promise<void> {
  await putRecord(db, 'meta', { key, value }, 'key')
}

/** Deletes the rows whose keys start with the prefix and whose values are smaller, as texts. */
export async function dropMetaBefore(db: Db, prefix: string, value: string): Promise<void> {
  const rows = db.deleteFrom('meta').where('key', 'like', `${prefix}%`)
  await rows.where('value', '<', value).execute()
}

const RESTORED_AT = 'restored_at'

/** Also deletes the end of the log that the operator accepted before the backup. */
export async function setRestoredAt(db: Db, restoredAt: string): Promise<void> {
  await deleteRecords(db, 'log_checkpoints', { name: 'accepted' })
  await setMeta(db, RESTORED_AT, restoredAt)
}

/** Cached per opening: files are restored only while closed. */
const known = new WeakMap<object, Promise<number | null>>()

/**
 * Unix milliseconds; null if never restored. Messages signed earlier may have been used in the lost part of the file, so
 * repeats cannot be detected.
 */
export async function restoredAtMs(database: Pick<OpenDatabase, 'reader'>): Promise<number | null> {
  const found = known.get(database) ?? look(database.reader)
  known.set(database, found)
  try {
    return await found
  } catch (error) {
    known.delete(database)
    throw error
  }
}

async function look(db: Db): Promise<number | null> {
  const text = await getMeta(db, RESTORED_AT)
  return text === null ? null : parseTime(text)
}
