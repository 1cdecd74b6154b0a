/** Queries that every area needs. */
import type { SelectQueryBuilder } from 'kysely'

import { sql } from './kysely.ts'

/** The number of rows that a query without a select list matches. */
export async function countRows<DB, Tables extends keyof DB>(
  query: SelectQueryBuilder<DB, Tables, object>,
): Promise<number> {
  const { total } = await query
    .select(sql<number>`count(*)`.as('total'))
    .$castTo<{ readonly total: number }>()
    .executeTakeFirstOrThrow()
  return total
}
