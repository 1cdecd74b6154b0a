/**
 * When this file was put back from a backup. What was signed before that moment may have had its effect in
 * rows that the backup does not hold, so nobody here can say whether it would be a repeat.
 */
import type { Kysely } from 'kysely'

import { parseTime } from '../core/time.ts'
import { getMeta, setMeta } from './meta.ts'
import type { OpenDatabase } from './open.ts'
import type { Database } from './schema.ts'

const RESTORED_AT = 'restored_at'

export async function setRestoredAt(db: Kysely<Database>, restoredAt: string): Promise<void> {
  await setMeta(db, RESTORED_AT, restoredAt)
}

/** A file is put back only while no process has it open: one look for each opening is enough. */
const known = new WeakMap<object, Promise<number | null>>()

/** Unix milliseconds; null where the file was never put back. */
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

async function look(db: Kysely<Database>): Promise<number | null> {
  const text = await getMeta(db, RESTORED_AT)
  return text === null ? null : parseTime(text)
}
