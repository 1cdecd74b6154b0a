/** Counters that a process keeps in memory and takes up again after a restart. */
import type { Kysely } from 'kysely'

import type { Database } from './schema.ts'

export async function saveCounts(
  db: Kysely<Database>,
  counts: { readonly name: string; readonly body: Buffer; readonly savedAt: string },
): Promise<void> {
  const values = { body: counts.body, saved_at: counts.savedAt }
  await db
    .insertInto('kept_counts')
    .values({ name: counts.name, ...values })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
    .execute()
}

/** What was saved last, or null. */
export async function loadCounts(db: Kysely<Database>, name: string): Promise<Buffer | null> {
  const row = await db
    .selectFrom('kept_counts')
    .select('body')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.body ?? null
}
