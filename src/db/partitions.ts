import { sql } from 'kysely'

/** Partitions of the expiring tables on PostgreSQL. Each contains the rows of one period, and is dropped as a whole. */
import { dayMs, hourMs, isoTime } from '../core/time.ts'
import { expiringTables } from './guard.ts'
import type { Db } from './schema.ts'
import { defaultPartition } from './table.ts'

/** A compromise: lookups search the index of every partition, and rows remain for up to a period after their expiry. */
const periodMs = 6 * hourMs

/** Rows live for up to a day. If no builder runs for two periods, new rows go to the default partition. */
const aheadMs = dayMs + 2 * periodMs

/** A long read, such as a dump, must not block all writes; the next call tries again. */
const lockLimitMs = 200

/** Adds partitions for rows of the next day, and drops those whose rows have all expired. */
export async function keepPartitions(
  tx: Db,
  { nowMs, expiredMs }: { readonly nowMs: number; readonly expiredMs: number | null },
): Promise<void> {
  await sql.raw(`set local lock_timeout = ${lockLimitMs}`).execute(tx)
  const present = Math.floor(nowMs / periodMs) * periodMs
  for (const table of expiringTables) {
    const names = await partitionsOf(tx, table)
    const lastExpired = expiredMs === null ? '' : nameOf(table, expiredMs - periodMs)
    for (const name of names) {
      if (name <= lastExpired) await sql`drop table ${sql.table(name)}`.execute(tx)
    }
    const unsorted = await newestIn(tx, defaultPartition(table))
    for (let from = present; from <= nowMs + aheadMs; from += periodMs) {
      const name = nameOf(table, from)
      // Rows are not moved: PostgreSQL refuses a partition for rows in the default partition.
      if (names.includes(name) || isoTime(from) <= unsorted) continue
      const [begin, end] = [from, from + periodMs].map((ms) => sql.lit(isoTime(ms)))
      await sql`create table ${sql.table(name)} partition of ${sql.table(table)} for values from (${begin}) to (${end})`.execute(
        tx,
      )
    }
  }
}

/** Names sort by time. */
function nameOf(table: string, ms: number): string {
  return `${table}_${isoTime(ms).replaceAll(/\D/g, '').slice(0, 'yyyymmddhh'.length)}`
}

async function partitionsOf(tx: Db, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_inherits join pg_class as partition on partition.oid = inhrelid
    where inhparent = ${table}::regclass and relname <> ${defaultPartition(table)}
  `.execute(tx)
  return rows.map(({ name }) => name)
}

async function newestIn(tx: Db, table: string): Promise<string> {
  const { rows } = await sql<{ newest: string | null }>`
    select max(expires_at) as newest from ${sql.table(table)}
  `.execute(tx)
  return rows[0]?.newest ?? ''
}
