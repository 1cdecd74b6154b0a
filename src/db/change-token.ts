import type { Kysely } from 'kysely'

import { sql } from './kysely.ts'
import type { Database } from './schema.ts'

/**
 * A text that differs whenever something was written that public documents are made of. Cheap: one row, read by the
 * ends of indexes. Every signed write leaves a used message. Of runs only that of the receipts is in it: what shows the others is made anew every ten minutes.
 */
export async function changeToken(db: Kysely<Database>): Promise<string> {
  const { rows } = await sql<{ token: string }>`
    select
      (select coalesce(max(id), 0) from polls) || '.' ||
      (select coalesce(max(seq), 0) from events) || '.' ||
      (select coalesce(max(opened_at), '') || coalesce(max(closed_at), '') from flags) || '.' ||
      (select coalesce(sum(views), 0) from article_views) || '.' ||
      (select coalesce(max(updated_at), '') from workers) || '.' ||
      (select coalesce(max(seq), 0) from receipts) || '.' ||
      (select coalesce(max(onchain_checked_at), '') from receipts where onchain_checked_at is not null) || '.' ||
      (select coalesce(max(seq), 0) from reputation_ledger) || '.' ||
      (select coalesce(max(seq), 0) from job_transitions) || '.' ||
      (select coalesce(max(updated_at), '') from partners) || '.' ||
      (select coalesce(max(decided_at), '') from skill_proposals) || '.' ||
      (select coalesce(max(id), 0) from claims) || '.' ||
      (select coalesce(max(revision), 0) from escrow_readings) || '.' ||
      coalesce((select json_extract(value, '$.finished_at') from meta where key = 'receipts_run'), '') || '.' ||
      (select coalesce(max(rowid), 0) from used_messages) as token
  `.execute(db)
  return rows[0]?.token ?? ''
}
