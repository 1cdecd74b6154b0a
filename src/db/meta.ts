import type { Db } from './schema.ts'

export async function getMeta(db: Db, key: string): Promise<string | null> {
  const row = await db.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst()
  return row?.value ?? null
}

export async function setMeta(db: Db, key: string, value: string): Promise<void> {
  await db
    .insertInto('meta')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

export async function saveCounts(
  db: Db,
  counts: { readonly name: string; readonly body: Buffer },
): Promise<void> {
  const values = { body: counts.body }
  await db
    .insertInto('persisted_counters')
    .values({ name: counts.name, ...values })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
    .execute()
}

export async function loadCounts(db: Db, name: string): Promise<Buffer | null> {
  const row = await db
    .selectFrom('persisted_counters')
    .select('body')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.body ?? null
}
