import type { SelectQueryBuilder } from 'kysely'

import { sql } from './kysely.ts'

export interface QuotaWindow {
  readonly nth: number
  /** RFC 3339, exclusive. */
  readonly after: string
}

/** Returns the `nth` newest time in `column`, or null if the window has fewer rows. */
export async function nthLastTime<DB, Tables extends keyof DB>(
  query: SelectQueryBuilder<DB, Tables, object>,
  column: string,
  { nth, after }: QuotaWindow,
): Promise<string | null> {
  const time = sql.ref<string>(column)
  const row = await query
    .select(time.as('time'))
    .$castTo<{ readonly time: string }>()
    .where(time, '>', after)
    .orderBy(time, 'desc')
    .limit(1)
    .offset(nth - 1)
    .executeTakeFirst()
  return row?.time ?? null
}

export async function countRows<DB, Tables extends keyof DB>(
  query: SelectQueryBuilder<DB, Tables, object>,
): Promise<number> {
  const { total } = await query
    .select(sql<number>`count(*)`.as('total'))
    .$castTo<{ readonly total: number }>()
    .executeTakeFirstOrThrow()
  return total
}
