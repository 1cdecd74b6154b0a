/** Leases by the clock of the database. Every effect carries the fence, so that a replaced holder changes nothing. */
import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'

import { hasEnded } from './holder.ts'
import { findRecord, updateRecord } from './records.ts'
import type { Db } from './schema.ts'
import { engineOf } from './statements.ts'
import type { Engine } from './statements.ts'

export interface HeldLease {
  readonly name: string
  readonly holder: string
  readonly fence: number
}

type WantedLease = Omit<HeldLease, 'fence'> & { readonly ttlMs: number }

export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Unix milliseconds of the database. */
const clocks = {
  sqlite: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  postgres: sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
} as const satisfies Record<Engine, RawBuilder<number>>

function databaseNow(db: Db) {
  return clocks[engineOf(db)]
}

export async function databaseTimeMs(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${databaseNow(db)} as now`.execute(db)
  return rows[0]?.now ?? Number.NaN
}

/** End of a lease that starts now, and the condition for taking it. A later end means that the database clock was set back. */
export function leaseTerms(
  db: Db,
  { holder, ttlMs }: Omit<WantedLease, 'name'>,
  other: string | null | undefined,
  columns: { readonly by: string; readonly until: string },
) {
  const now = databaseNow(db)
  const end = sql<number>`${now} + ${ttlMs}`
  const [by, until] = [sql.ref(columns.by), sql.ref(columns.until)]
  const ended = typeof other === 'string' && hasEnded(other) ? other : holder
  const free = sql<boolean>`(${by} in (${holder}, ${ended}) or ${until} <= ${now} or ${until} > ${end})`
  return { end, free }
}

/** Call it in a write. Returns the fence, or null while another holder has the lease. A repeated call extends the lease. */
export async function takeLease(db: Db, { name, holder, ttlMs }: WantedLease) {
  const other = await findRecord(db, 'leases', { name })
  const columns = { by: 'leases.holder', until: 'leases.until' }
  const { end, free } = leaseTerms(db, { holder, ttlMs }, other?.holder, columns)
  const { rows } = await sql<Pick<HeldLease, 'fence'>>`
    insert into leases (name, holder, fence, until) values (${name}, ${holder}, 1, ${end})
    on conflict (name) do update set holder = ${holder}, until = ${end},
      fence = leases.fence + case when leases.holder = ${holder} then 0 else 1 end
    where ${free}
    returning fence
  `.execute(db)
  return rows[0]?.fence ?? null
}

export async function releaseLease(db: Db, { name, fence }: HeldLease): Promise<boolean> {
  return await updateRecord(db, 'leases', { name, fence }, { until: 0 })
}

/** Call it in a write, and before an effect outside the database. @throws LeaseLostError if the lease has another holder */
export async function requireLease(db: Db, { name, fence }: HeldLease): Promise<void> {
  if ((await findRecord(db, 'leases', { name, fence })) !== null) return
  throw new LeaseLostError(`Another process has taken the lease ${name}`)
}
