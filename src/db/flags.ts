/** At most one flag per kind, rail and subject is open at a time. */

import { sql } from 'kysely'

import { sha256Hex } from '../auth/messages.ts'
import { flagKind } from '../contract/schemas/flag.ts'
import type { Flag } from '../contract/schemas/flag.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { Random } from '../core/deps.ts'
import { present } from '../core/entries.ts'
import { newId } from '../core/new-id.ts'
import { appendEvent } from './events.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { queueEntries } from './log.ts'
import type { QueuedEntry } from './log.ts'
import { selectRecords, updateRecord } from './records.ts'
import { toRow } from './rows.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type FlagRecord = RecordOf<'flags'>

export type FlagKey = Pick<FlagRecord, 'kind' | 'rail' | 'subject'>

export type NewFlag = Pick<FlagRecord, 'rail'> &
  Omit<NewRecordOf<'flags'>, 'closedAt' | 'closeReason'>

/** Returns false if an equal flag is open. */
export async function openFlag(db: Db, flag: NewFlag): Promise<boolean> {
  const inserted = await db
    .insertInto('flags')
    .values(toRow<'flags'>(flag))
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
  tx: Db,
  key: FlagKey,
  closedAt: string,
  closeReason: string,
): Promise<FlagRecord | null> {
  const { kind, rail, subject } = key
  const open = await selectRecords(tx, 'flags', { kind, subject, closedAt: null })
    .where(sql`coalesce(rail, '')`, '=', rail ?? '')
    .executeTakeFirst()
  if (open === undefined) return null
  await updateRecord(tx, 'flags', { id: open.id }, { closedAt, closeReason })
  return { ...open, closedAt, closeReason }
}

export async function listOpenFlags(db: Db): Promise<readonly FlagRecord[]> {
  const open = selectRecords(db, 'flags', { closedAt: null })
  return await open.orderBy('opened_at').orderBy('id').execute()
}

export async function listClosedFlags(db: Db, limit: number): Promise<readonly FlagRecord[]> {
  return await selectRecords(db, 'flags')
    .where('closed_at', 'is not', null)
    .orderBy('closed_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
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
  await queueEntries(tx, [loggedFlag({ ...opened, closedAt: null, closeReason: null })])
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
  await queueEntries(tx, [loggedFlag(closed)])
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

type ShownFlag = Omit<FlagRecord, 'subject' | 'evidence'> & { readonly evidence: object }

/** As published. The API contract allows no nested evidence, so nested values become JSON text. */
export function flagView({ id, rail, severity, title, ...row }: ShownFlag): Flag {
  const evidence = Object.entries(objectFromJsonText(toJsonText(row.evidence))).map(
    ([name, value]) =>
      [name, value === null || typeof value !== 'object' ? value : JSON.stringify(value)] as const,
  )
  return {
    id,
    rail,
    kind: flagKind.parse(row.kind),
    severity,
    title,
    evidence: Object.fromEntries(evidence),
    opened_at: row.openedAt,
    ...present({ closed_at: row.closedAt, close_reason: row.closeReason }),
  }
}

function loggedFlag(flag: ShownFlag): QueuedEntry {
  const id = `${flag.id} ${flag.closedAt === null ? 'opened' : 'closed'}`
  const sha256 = sha256Hex(toJsonText(flagView(flag)))
  return { kind: 'flag', id, sha256, ...present({ subject: flag.rail }) }
}
