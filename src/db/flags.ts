/** Honesty flags. At most one is open for a kind, a rail and a subject at any time. */
import type { Kysely, Selectable } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import type { Severity } from '../core/flags/kind.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database, FlagsTable } from './schema.ts'

/** What an open flag is about. */
export interface FlagKey {
  readonly kind: string
  /** Null where the flag concerns the ledger itself. */
  readonly rail: string | null
  /** Tells apart flags of one kind on one rail; the empty string where there is only one. */
  readonly subject: string
}

export interface NewFlag extends FlagKey {
  readonly id: string
  readonly severity: Severity
  readonly title: string
  /** The numbers that tripped it. */
  readonly evidence: object
  readonly openedAt: string
}

export interface FlagRecord extends NewFlag {
  readonly evidence: JsonObject
  readonly closedAt: string | null
  readonly closeReason: string | null
}

const columns = [
  'id',
  'rail',
  'kind',
  'severity',
  'title',
  'evidence',
  'subject',
  'opened_at',
  'closed_at',
  'close_reason',
] as const satisfies readonly (keyof FlagsTable)[]

function toRow(flag: NewFlag): FlagsTable {
  return {
    id: flag.id,
    rail: flag.rail,
    kind: flag.kind,
    severity: flag.severity,
    title: flag.title,
    evidence: toJsonText(flag.evidence),
    subject: flag.subject,
    opened_at: flag.openedAt,
    closed_at: null,
    close_reason: null,
  }
}

function toRecord(row: Selectable<FlagsTable>): FlagRecord {
  return {
    id: row.id,
    rail: row.rail,
    kind: row.kind,
    severity: row.severity,
    title: row.title,
    evidence: objectFromJsonText(row.evidence),
    subject: row.subject,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    closeReason: row.close_reason,
  }
}

/** Whether it was opened now: false, and nothing changed, where one with the same key is open already. */
export async function openFlag(db: Kysely<Database>, flag: NewFlag): Promise<boolean> {
  const inserted = await db
    .insertInto('flags')
    .values(toRow(flag))
    .onConflict((conflict) =>
      conflict
        .expression(sql`kind, coalesce(rail, ''), subject`)
        .where('closed_at', 'is', null)
        .doNothing(),
    )
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** The flag that was closed, or null where none with this key was open. */
export async function closeFlag(
  db: Kysely<Database>,
  key: FlagKey,
  closedAt: string,
  closeReason: string,
): Promise<FlagRecord | null> {
  const row = await db
    .updateTable('flags')
    .set({ closed_at: closedAt, close_reason: closeReason })
    .where('kind', '=', key.kind)
    .where(sql`coalesce(rail, '')`, '=', key.rail ?? '')
    .where('subject', '=', key.subject)
    .where('closed_at', 'is', null)
    .returning(columns)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/** Oldest first. */
export async function listOpenFlags(db: Kysely<Database>): Promise<readonly FlagRecord[]> {
  const rows = await db
    .selectFrom('flags')
    .select(columns)
    .where('closed_at', 'is', null)
    .orderBy('opened_at')
    .orderBy('id')
    .execute()
  return rows.map(toRecord)
}

/** The `limit` that were closed last, newest first. */
export async function listClosedFlags(
  db: Kysely<Database>,
  limit: number,
): Promise<readonly FlagRecord[]> {
  const rows = await db
    .selectFrom('flags')
    .select(columns)
    .where('closed_at', 'is not', null)
    .orderBy('closed_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}
