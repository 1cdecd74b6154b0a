import { sha256Hex } from '../auth/messages.ts'
import { present } from '../core/entries.ts'
import { severitiesFrom } from '../core/flags/kind.ts'
import type { Severity } from '../core/flags/kind.ts'
import { timeAfter } from '../core/time.ts'
import { toJsonText } from './json.ts'
import { queueEntries } from './log.ts'
import { insertNumbered, selectRecords } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewEvent = NewRecordOf<'events'>

/** `seq` increases with every event and is never reused. */
export type EventRecord = RecordOf<'events'>

/** Returns the sequence number. Stores `createdAt`, or 1 ms after the last event if that is later. */
export async function appendEvent(db: Db, event: NewEvent): Promise<number> {
  const createdAt = timeAfter((await lastEvent(db))?.created_at, event.createdAt)
  const logged = { ...event, createdAt }
  // The entry of a flag is the flag itself, which everyone can read.
  if (event.kind === 'rail_transition') {
    const { id, rail } = event
    // Hashed as the alert feed shows it.
    const { createdAt: _, ...facts } = event
    const sha256 = sha256Hex(toJsonText({ ...facts, created_at: createdAt }))
    await queueEntries(db, [{ kind: 'transition', id, sha256, ...present({ subject: rail }) }])
  }
  return await insertNumbered(db, 'events', logged, 'seq')
}

/** `seq` and `after` are exclusive, `time` is inclusive. */
export type Since =
  | { readonly seq: number }
  | { readonly after: string }
  | { readonly time: string }

export interface EventFilter {
  readonly rail?: string | undefined
  /** The lowest. */
  readonly severity?: Severity | undefined
}

export async function eventsSince(
  db: Db,
  since: Since,
  limit: number,
  { rail, severity }: EventFilter = {},
): Promise<readonly EventRecord[]> {
  // Both columns give the same order; each has its own index.
  const order = 'seq' in since ? 'seq' : 'created_at'
  let query = selectRecords(db, 'events').orderBy(order).limit(limit)
  if ('seq' in since) query = query.where('seq', '>', since.seq)
  else if ('after' in since) query = query.where('created_at', '>', since.after)
  else query = query.where('created_at', '>=', since.time)
  if (rail !== undefined) query = query.where('rail', '=', rail)
  if (severity !== undefined) query = query.where('severity', 'in', severitiesFrom(severity))
  return await query.execute()
}

/** 0 before the first event. */
export async function lastEventSeq(db: Db): Promise<number> {
  return (await lastEvent(db))?.seq ?? 0
}

async function lastEvent(db: Db) {
  const newest = db.selectFrom('events').select(['seq', 'created_at']).orderBy('seq', 'desc')
  return await newest.limit(1).executeTakeFirst()
}
