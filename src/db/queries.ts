import type { SelectQueryBuilder } from 'kysely'

import { sql } from './kysely.ts'

export async function countRows<DB, Tables extends keyof DB>(
  query: SelectQueryBuilder<DB, Tables, object>,
): Promise<number> {
  const { total } = await query
    .select(sql<number>`count(*)`.as('total'))
    .$castTo<{ readonly total: number }>()
    .executeTakeFirstOrThrow()
  return total
}
