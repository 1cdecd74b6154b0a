import { insertRows } from './insert-rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ViewCount = RecordOf<'article_views'>

export async function addViews(db: Db, batch: readonly ViewCount[]): Promise<void> {
  const rows = batch.map(({ slug, hour, views }) => ({ slug, hour, views }))
  const addToViews = '(slug, hour) do update set views = article_views.views + excluded.views'
  await insertRows(db, 'article_views', rows, addToViews)
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
