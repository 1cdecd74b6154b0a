import { findRecord, putRecord } from './records.ts'
import type { NewRecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export async function getMeta(db: Db, key: string): Promise<string | null> {
  return (await findRecord(db, 'meta', { key }))?.value ?? null
}

export async function setMeta(db: Db, key: string, value: string): Promise<void> {
  await putRecord(db, 'meta', { key, value }, 'key')
}

export async function saveCounts(db: Db, counts: NewRecordOf<'persisted_counters'>): Promise<void> {
  await putRecord(db, 'persisted_counters', counts, 'name')
}

export async function loadCounts(db: Db, name: string): Promise<Buffer | null> {
  return (await findRecord(db, 'persisted_counters', { name }))?.body ?? null
}
