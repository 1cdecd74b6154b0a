import type { Kysely } from 'kysely'
import { sql } from 'kysely'

import type { Database } from './schema.ts'

/**
 * A text that differs whenever something was written that public documents are made of. Cheap: one row, read by the
 * ends of indexes. Runs of jobs and probes of the disk are left out: no document shows them.
 */
export async function changeToken(db: Kysely<Database>): Promise<string> {
  const { rows } = await sql<{ token: string }>`
    select
      (select coalesce(max(id), 0) from polls) || '.' ||
      (select coalesce(max(seq), 0) from events) || '.' ||
      (select coalesce(max(opened_at), '') || coalesce(max(closed_at), '') from flags) || '.' ||
      (select coalesce(sum(views), 0) from article_views) as token
  `.execute(db)
  return rows[0]?.token ?? ''
}
