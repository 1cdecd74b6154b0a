/** The log: its queue, its entries in order, and the tiles of their hashes. */
import { hash } from 'node:crypto'

import { CompiledQuery } from 'kysely'

import { sha256Hex } from '../auth/messages.ts'
import { canonicalize } from '../core/canonical-json.ts'
import { formatProof } from '../core/tlog/checkpoint.ts'
import { parseEntry } from '../core/tlog/entry.ts'
import type { LogEntryKind, LogEntry } from '../core/tlog/entry.ts'
import { hashLength, inclusionProof, nodeMark } from '../core/tlog/merkle.ts'
import type { ReadNode } from '../core/tlog/merkle.ts'
import { nodesOf } from '../core/tlog/tiles.ts'
import type { ReadTile } from '../core/tlog/tiles.ts'
import { insertWholeRows } from './insert-rows.ts'
import { toJsonText } from './json.ts'
import { findRecord, putRecord, selectRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'
import { eachElement, engineOf } from './statements.ts'
import type { Engine } from './statements.ts'

/** An entry without the members that depend on its place in the log. */
export type QueuedEntry = {
  /** Unique for each kind: an entry that is queued again is not logged again. */
  readonly id: string
  readonly sha256: string
  readonly subject?: string
} & (
  | {
      readonly kind: Exclude<LogEntryKind, 'check' | 'poll' | 'snapshot' | 'key'>
      readonly extra?: never
    }
  | { readonly kind: 'check'; readonly extra?: Pick<LogEntryOf<'check'>, 'block'> }
  | { readonly kind: 'poll'; readonly extra: Pick<LogEntryOf<'poll'>, 'outcome'> }
  | { readonly kind: 'snapshot'; readonly extra: Pick<LogEntryOf<'snapshot'>, 'version'> }
  | { readonly kind: 'key'; readonly extra: Pick<LogEntryOf<'key'>, 'event'> }
)
type LogEntryOf<Kind extends LogEntryKind> = Extract<LogEntry, { readonly kind: Kind }>

/** Call it in the transaction of the effect, so that both are stored or neither. */
export async function queueEntries(tx: Db, entries: readonly QueuedEntry[]): Promise<void> {
  const rows = entries.map(({ kind, id, sha256, subject = null, extra }) => {
    const more = extra === undefined ? null : toJsonText(extra)
    return { kind, entryId: id, sha256, subject, extra: more }
  })
  await insertWholeRows(tx, 'log_queue', rows)
}

const lastOf = (engine: Engine) => `
  select
    (
      select position from log_entries
      where kind = element.value ->> 'kind' and subject = element.value ->> 'subject'
      order by position desc limit 1
    ) as position,
    (
      select entry from log_entries where kind = element.value ->> 'kind' and entry_id = element.value ->> 'entryId'
    ) as logged
  from ${eachElement[engine]}
  order by element.key`

/** Returns for each queued row, in order, the index of the last entry of its kind and subject, and the entry with its id. */
export async function lastOfEach(
  tx: Db,
  rows: readonly Pick<RecordOf<'log_queue'>, 'kind' | 'entryId' | 'subject'>[],
): Promise<readonly { readonly position: number | null; readonly logged: string | null }[]> {
  const looked = rows.map(({ kind, entryId, subject }) => ({ kind, entryId, subject }))
  const query = CompiledQuery.raw(lastOf(engineOf(tx)), [JSON.stringify(looked)])
  const { rows: found } = await tx.executeQuery<{ position: number | null; logged: string | null }>(
    query,
  )
  return found
}

/** The first entry gets the index `size`. */
export async function addEntries(
  tx: Db,
  size: number,
  entries: readonly LogEntry[],
): Promise<void> {
  const rows = entries.map((entry, at) => ({
    position: size + at,
    kind: entry.kind,
    entryId: entry.id,
    subject: entry.subject ?? null,
    entry: canonicalize(entry),
  }))
  await insertWholeRows(tx, 'log_entries', rows)
}

export async function putCheckpoint(
  tx: Db,
  name: StoredCheckpoint['name'],
  checkpoint: Omit<StoredCheckpoint, 'name'>,
): Promise<void> {
  await putRecord(tx, 'log_checkpoints', { name, ...checkpoint }, 'name')
}

export type LoggedEntry = RecordOf<'log_entries'>

/** Null while readers cannot see the entry. */
export async function findPublished(
  db: Db,
  kind: LogEntryKind,
  id: string,
): Promise<LoggedEntry | null> {
  const found = await findRecord(db, 'log_entries', { kind, entryId: id })
  const size = (await findCheckpoint(db, 'published'))?.size ?? 0
  return found !== null && found.position < size ? found : null
}

/** A proof with the published checkpoint, or the witnessed one if it has the entry; null while readers cannot see the entry. */
export async function proofOf(db: Db, kind: LogEntryKind, id: string): Promise<string | null> {
  const found = await findRecord(db, 'log_entries', { kind, entryId: id })
  if (found === null) return null
  const witnessed = await findCheckpoint(db, 'witnessed')
  const published = await findCheckpoint(db, 'published')
  const shown = [witnessed, published].find((one) => one !== null && found.position < one.size)
  if (shown === undefined || shown === null) return null
  const { size, note: checkpoint } = shown
  const hashes = await inclusionProof(found.position, size, nodesIn(db, size))
  const entry = Buffer.from(found.entry)
  return formatProof({ entry, index: found.position, hashes, checkpoint })
}

/** The canonical JSON of the entries with an index from `from` to before `to`, in order. */
export async function entriesBetween(db: Db, from: number, to: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('log_entries')
    .select('entry')
    .where('position', '>=', from)
    .where('position', '<', to)
    .orderBy('position')
    .execute()
  return rows.map(({ entry }) => entry)
}

export const tilesIn =
  (db: Db): ReadTile =>
  async ({ level, at, width }) => {
    const hashes = (await findRecord(db, 'log_tiles', { level, at }))?.hashes
    if (hashes === undefined || hashes.length < width * hashLength) {
      throw new Error(`tile ${level}/${at} of the log is missing in the database`)
    }
    return hashes.subarray(0, width * hashLength)
  }

/** `nodeHash` by OpenSSL, in half of its time. */
const hashNode = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  hash('sha256', Buffer.concat([nodeMark, left, right]), 'buffer')

export const nodesIn = (db: Db, size: number, readTile = tilesIn(db)): ReadNode =>
  nodesOf(size, readTile, hashNode)

export type StoredCheckpoint = RecordOf<'log_checkpoints'>

export async function findCheckpoint(
  db: Db,
  name: StoredCheckpoint['name'],
): Promise<StoredCheckpoint | null> {
  return await findRecord(db, 'log_checkpoints', { name })
}

/** The version of the last manifest in the log; 0 if there is none. */
export async function lastVersion(db: Db): Promise<number> {
  const snapshots = selectRecords(db, 'log_entries', { kind: 'snapshot', subject: 'snapshot' })
  const [last] = await snapshots.orderBy('position', 'desc').limit(1).execute()
  const entry = last === undefined ? null : parseEntry(Buffer.from(last.entry))
  return entry?.kind === 'snapshot' ? entry.version : 0
}

/** Oldest first. */
export async function queuedEntries(db: Db, limit: number, after = 0) {
  const rows = selectRecords(db, 'log_queue').where('seq', '>', after)
  return await rows.orderBy('seq').limit(limit).execute()
}

/** Key records of the log. */

export interface OwnedKey {
  /** `service`, the slug of a platform or the wallet of a worker. */
  readonly owner: string
  readonly public_key: string
}

/** `from`: a worker may return to an earlier key. */
export function activatedKey({ owner, public_key }: OwnedKey, from?: string): QueuedEntry {
  const sha256 = sha256Hex(canonicalize({ owner, public_key }))
  const id = from === undefined ? sha256 : `${sha256} ${from}`
  return { kind: 'key', id, sha256, subject: owner, extra: { event: 'activates' } }
}

export function revokedKey({ owner, public_key }: OwnedKey, revoked_at: string): QueuedEntry {
  const sha256 = sha256Hex(canonicalize({ owner, public_key, revoked_at }))
  const id = `${activatedKey({ owner, public_key }).sha256} ${revoked_at}`
  return { kind: 'key', id, sha256, subject: owner, extra: { event: 'revokes' } }
}
