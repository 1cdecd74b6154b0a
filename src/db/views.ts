import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ViewCount = RecordOf<'article_views'>

/** SQLite accepts 32,766 parameters. */
const rowsPerInsert = 5000

export async function addViews(db: Db, batch: readonly ViewCount[]): Promise<void> {
  for (let start = 0; start < batch.length; start += rowsPerInsert) {
    const rows = batch
      .slice(start, start + rowsPerInsert)
      .map(({ slug, hour, views }) => ({ slug, hour, views }))
    await db
      .insertInto('article_views')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['slug', 'hour']).doUpdateSet((eb) => ({
          views: eb('article_views.views', '+', eb.ref('excluded.views')),
        })),
      )
      .execute()
  }
}

/** `hour` is inclusive. */
export async function viewsSince(db: Db, hour: number): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('article_views')
    .select(({ fn }) => ['slug', fn.sum<number>('views').as('views')])
    .where('hour', '>=', hour)
    .groupBy('slug')
    .orderBy('slug')
    .execute()
  return new Map(rows.map(({ slug, views }) => [slug, views]))
}
