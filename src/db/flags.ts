/** At most one flag per kind, rail and subject is open at a time. */

import type { JsonObject } from '../core/canonical-json.ts'
import type { Random } from '../core/deps.ts'
import { newId } from '../core/new-id.ts'
import { appendEvent } from './events.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import { selectRecords } from './records.ts'
import { columnsOf, toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

type Row = RecordOf<'flags'>

export type FlagKey = Pick<Row, 'kind' | 'rail' | 'subject'>

export interface FlagRecord extends Omit<Row, 'evidence'> {
  readonly evidence: JsonObject
}

export interface NewFlag extends Omit<Row, 'evidence' | 'closedAt' | 'closeReason'> {
  readonly evidence: object
}

const columns = columnsOf('flags')

function toRecord(row: Row): FlagRecord {
  return { ...row, evidence: objectFromJsonText(row.evidence) }
}

/** Returns false if an equal flag is open. */
export async function openFlag(db: Db, flag: NewFlag): Promise<boolean> {
  const record = { ...flag, evidence: toJsonText(flag.evidence), closedAt: null, closeReason: null }
  const inserted = await db
    .insertInto('flags')
    .values(toRow<'flags'>(record))
    .onConflict((conflict) =>
      conflict
        .expression(sql`kind, coalesce(rail, ''), subject`)
        .where('closed_at', 'is', null)
        .doNothing(),
    )
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** Returns null if no such flag was open. */
export async function closeFlag(
  db: Db,
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

export async function listOpenFlags(db: Db): Promise<readonly FlagRecord[]> {
  const open = selectRecords(db, 'flags', { closedAt: null })
  const rows = await open.orderBy('opened_at').orderBy('id').execute()
  return rows.map(toRecord)
}

export async function listClosedFlags(db: Db, limit: number): Promise<readonly FlagRecord[]> {
  const rows = await selectRecords(db, 'flags')
    .where('closed_at', 'is not', null)
    .orderBy('closed_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

/** Returns null if an equal flag is open. */
export async function openFlagWithEvent(
  tx: Db,
  random: Pick<Random, 'bytes'>,
  flag: Omit<NewFlag, 'id'> & Partial<Pick<NewFlag, 'id'>>,
): Promise<NewFlag | null> {
  const opened = { id: newId(random, 'flg', 9), ...flag }
  if (!(await openFlag(tx, opened))) return null
  const { id, kind, rail, severity, title, evidence, openedAt } = opened
  await appendEvent(tx, {
    id: newId(random, 'evt', 9),
    kind: 'flag_opened',
    rail,
    severity,
    title,
    data: { flag_id: id, flag_kind: kind, evidence },
    createdAt: openedAt,
  })
  return opened
}

/** Returns null if no such flag is open. `data` are further members of the event. */
export async function closeFlagWithEvent(
  tx: Db,
  random: Pick<Random, 'bytes'>,
  key: FlagKey,
  closedAt: string,
  reason: string,
  data: JsonObject = {},
): Promise<FlagRecord | null> {
  const closed = await closeFlag(tx, key, closedAt, reason)
  if (closed === null) return null
  await appendEvent(tx, {
    id: newId(random, 'evt', 9),
    kind: 'flag_closed',
    rail: closed.rail,
    severity: 'info',
    title: closed.title,
    data: { flag_id: closed.id, flag_kind: closed.kind, ...data },
    createdAt: closedAt,
  })
  return closed
}
