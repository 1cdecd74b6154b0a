/**
 * The schema, as the steps that led to it. A step that was released is never changed: a change is a new
 * step at the end of the list.
 */
import type { Kysely } from 'kysely'

import { DatabaseRefusedError } from './errors.ts'
import { sql } from './kysely.ts'
import { polls } from './migrations/0001-polls.ts'
import { flagsEvents } from './migrations/0002-flags-events.ts'
import { folds } from './migrations/0003-folds.ts'
import { runsViews } from './migrations/0004-runs-views.ts'
import { writes } from './migrations/0005-writes.ts'
import { workers } from './migrations/0006-workers.ts'
import { receipts } from './migrations/0007-receipts.ts'
import { partners } from './migrations/0008-partners.ts'
import { jobs } from './migrations/0009-jobs.ts'
import { alerts } from './migrations/0010-alerts.ts'
import { feedback } from './migrations/0011-feedback.ts'
import { payments } from './migrations/0012-payments.ts'
import { receiptChecks } from './migrations/0013-receipt-checks.ts'
import { pacts } from './migrations/0014-pacts.ts'
import { subscriptions } from './migrations/0015-subscriptions.ts'
import { bounds } from './migrations/0016-bounds.ts'
import { paymentStates } from './migrations/0017-payment-states.ts'
import type { Migration } from './migrations/migration.ts'

export const migrations = [
  polls,
  flagsEvents,
  folds,
  runsViews,
  writes,
  workers,
  receipts,
  partners,
  jobs,
  alerts,
  feedback,
  payments,
  receiptChecks,
  pacts,
  subscriptions,
  bounds,
  paymentStates,
] as const satisfies readonly Migration[]

/**
 * Applies what is missing, all in one transaction: a step that fails leaves the file as it was. Two
 * processes may do so at once; the second finds nothing left to do.
 * @throws DatabaseRefusedError where the file holds steps that this program does not know.
 */
export async function migrate<DB>(
  db: Kysely<DB>,
  known: readonly Migration[] = migrations,
): Promise<void> {
  if ((await missing(db, known)).length === 0) return
  await db.transaction().execute(async (tx) => {
    await sql`create table if not exists schema_migrations (
      position integer primary key,
      name text not null unique
    ) strict`.execute(tx)
    for (const { name, up } of await missing(tx, known)) {
      for (const statement of up) await sql.raw(statement).execute(tx)
      await sql`insert into schema_migrations (name) values (${name})`.execute(tx)
    }
    await sql.raw(`pragma user_version = ${known.length}`).execute(tx)
  })
}

/** @throws DatabaseRefusedError unless the file has exactly the known steps. For readers that cannot migrate. */
export async function refuseOtherSchema<DB>(
  db: Kysely<DB>,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const [next] = await missing(db, known)
  if (next !== undefined) {
    throw new DatabaseRefusedError(
      `The database lacks ${next.name}: start the writing process first.`,
    )
  }
}

async function missing<DB>(
  db: Kysely<DB>,
  known: readonly Migration[],
): Promise<readonly Migration[]> {
  const applied = await appliedNames(db)
  for (const [index, name] of applied.entries()) {
    if (known[index]?.name !== name) {
      throw new DatabaseRefusedError(
        `The database holds ${name} where this program knows ${known[index]?.name ?? 'nothing'}: ` +
          'it was written by another version, probably a later one.',
      )
    }
  }
  return known.slice(applied.length)
}

async function appliedNames<DB>(db: Kysely<DB>): Promise<readonly string[]> {
  const table = await sql`select 1 from sqlite_schema where name = 'schema_migrations'`.execute(db)
  if (table.rows.length === 0) return []
  const { rows } = await sql<{
    name: string
  }>`select name from schema_migrations order by position`.execute(db)
  return rows.map((row) => row.name)
}
