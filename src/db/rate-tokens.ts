import { sql } from 'kysely'

import type { Db } from './schema.ts'

export interface TokenDraw {
  readonly policy: string
  readonly key: number
  /** The amount that one unit adds to the stored value, see `core/limits.ts`. */
  readonly unit: number
  /** Units of a full limit. */
  readonly capacity: number
  /** Values before the current multiple of this many milliseconds count as empty: a day, or 1 for rates. */
  readonly stepMs: number
  readonly wanted: number
}

export interface DrawnTokens {
  /** At most `wanted`. */
  readonly granted: number
  /** The stored value afterwards. */
  readonly value: number
  /** Unix milliseconds of the database. */
  readonly nowMs: number
}

/** The generic cell rate algorithm in one statement on PostgreSQL, whose clock all replicas use. */
export async function drawTokens(db: Db, draw: TokenDraw): Promise<DrawnTokens> {
  const { policy, key, unit, capacity, stepMs, wanted } = draw
  const nowMs = sql`floor(extract(epoch from clock_timestamp()) * 1000)`
  const empty = sql`excluded.value - excluded.granted * ${unit}::float8`
  const base = sql`greatest(held.value, ${empty})`
  const spare = sql`floor(${capacity}::float8 - (${base} - (${empty})) / ${unit}::float8)`
  const granted = sql`greatest(0, least(${wanted}::float8, ${spare}))`
  const first = Math.min(wanted, capacity)
  const { rows } = await sql<DrawnTokens>`
    insert into rate_tokens as held (policy, key, value, granted)
    values (${policy}, ${key}, floor(${nowMs} / ${stepMs}::float8) * ${stepMs}::float8 + ${first * unit}::float8, ${first})
    on conflict (policy, key) do update
    set value = ${base} + ${granted} * ${unit}::float8, granted = ${granted}
    returning granted, value, ${nowMs}::float8 as "nowMs"
  `.execute(db)
  const [drawn] = rows
  if (drawn === undefined) throw new Error('the row of a limit was not written')
  return drawn
}

/** Removes values that no longer affect a limit. */
export async function dropRateTokens(db: Db, beforeMs: number): Promise<void> {
  await db.deleteFrom('rate_tokens').where('value', '<', beforeMs).execute()
}
