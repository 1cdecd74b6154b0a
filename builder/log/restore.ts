/** After a restore, the database may lack entries that others have seen. Without them, the log would fork. */
import { emptyCheckpoint, openCheckpoint } from '../../src/auth/notes.ts'
import type { NoteSigner } from '../../src/auth/notes.ts'
import type { OpenedCheckpoint } from '../../src/core/tlog/checkpoint.ts'
import { parseEntry } from '../../src/core/tlog/entry.ts'
import { isSame, rootOf } from '../../src/core/tlog/merkle.ts'
import type { NoteKey } from '../../src/core/tlog/note.ts'
import { logPath } from '../../src/core/tlog/paths.ts'
import { tilePath, tileWidth, unpackEntries } from '../../src/core/tlog/tiles.ts'
import { findCheckpoint, nodesIn, putCheckpoint } from '../../src/db/log.ts'
import type { StoredCheckpoint } from '../../src/db/log.ts'
import { restoredAtMs } from '../../src/db/meta.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { PublicFiles } from '../publish/store/store.ts'
import { append } from './sequence.ts'

/** The database contradicts the log that others have seen, or may do so once it continues. */
export class ForkedLogError extends Error {
  override readonly name = 'ForkedLogError'
}

/**
 * Restores entries that the database of this log lacks from the published log. Returns the size that readers see, null if they see
 * none or an older copy, and the number of restored entries.
 * @throws ForkedLogError, NoteError if another key signed the checkpoint; then nothing may be signed
 */
export async function restoreLog(
  database: Pick<OpenDatabase, 'reader' | 'write'>,
  files: Pick<PublicFiles, 'get'>,
  key: NoteKey,
): Promise<{ readonly seen: number | null; readonly restored: number }> {
  const signed = await findCheckpoint(database.reader, 'signed')
  const note = (await files.get(logPath('checkpoint')))?.bytes.toString()
  // Another database than that of the key may lack everything but the log.
  if (signed === null || note === undefined) return { seen: null, restored: 0 }
  const published = openCheckpoint(note, key)
  // The service serves the published checkpoint.
  const seen = { size: published.size, note }
  const { size } = signed
  if (size >= published.size) {
    const read = nodesIn(database.reader, published.size)
    requireSame(await rootOf(published.size, read), published)
    const recorded = (await findCheckpoint(database.reader, 'published'))?.size ?? 0
    if (published.size < recorded) {
      // A builder that was paused may set the checkpoint back, but cannot remove the entries of its successor.
      const isOlderCopy = (await files.get(entriesPath(recorded))) === null
      return { seen: isOlderCopy ? null : published.size, restored: 0 }
    }
    await database.write((tx) => putCheckpoint(tx, 'published', seen))
    return { seen: published.size, restored: 0 }
  }
  // In one transaction, so that wrong entries are rolled back.
  await database.write(async (tx) => {
    let root: Uint8Array = new Uint8Array()
    for (let from = size; from < published.size; from = nextTile(from)) {
      const to = Math.min(nextTile(from), published.size)
      root = await append(tx, from, await readEntries(files, from, to, published.size))
    }
    requireSame(root, published)
    await putCheckpoint(tx, 'signed', seen)
    await putCheckpoint(tx, 'published', seen)
  })
  return { seen: published.size, restored: published.size - size }
}

/** Returns the number of entries that each reachable witness has seen. `empty` is a signed checkpoint of size 0. */
export type AskSizes = (
  empty: Omit<StoredCheckpoint, 'name'>,
) => Promise<readonly { readonly name: string; readonly size: number }[]>

/** True if the operator has accepted the end of the log in the database. */
export async function isEndAccepted({ reader }: Pick<OpenDatabase, 'reader'>): Promise<boolean> {
  const [signed, accepted] = [
    await findCheckpoint(reader, 'signed'),
    await findCheckpoint(reader, 'accepted'),
  ]
  return signed !== null && signed.note === accepted?.note
}

/**
 * Unless the operator has accepted the end of the log in the database, the published log must have been read, if the ledger
 * is not new, and no witness may have seen more. Witnesses may lag, so they cannot replace the published log.
 * @throws ForkedLogError; then nothing may be signed
 */
export async function requireEnd(
  database: Pick<OpenDatabase, 'reader'>,
  isRead: boolean,
  { signer, askSizes }: { readonly signer: NoteSigner; readonly askSizes: AskSizes },
): Promise<void> {
  if (await isEndAccepted(database)) return
  const signed = await findCheckpoint(database.reader, 'signed')
  const size = signed?.size ?? 0
  const answers = await askSizes(emptyCheckpoint(signer))
  const most = answers.toSorted((one, other) => other.size - one.size)[0] ?? { name: '', size: 0 }
  const isNew = signed?.size === 0 && (await restoredAtMs(database)) === null
  if ((isRead || isNew) && most.size <= size) return
  const lost = signed === null ? 'its key is older than the database' : 'the published log is lost'
  const more = most.size > size ? `${most.name} has seen ${most.size}` : lost
  const remedy =
    signed === null
      ? 'check DATABASE_URL, restore the database'
      : 'restore the newest published folder log'
  throw new ForkedLogError(
    `the database has ${size} entries of the log, but ${more}: ${remedy}, or ` +
      `accept that the log continues from there: agent-income-ledger admin log accept ${signer.key.name} ${size}`,
  )
}

const nextTile = (index: number): number => (Math.floor(index / tileWidth) + 1) * tileWidth

function requireSame(root: Uint8Array, { size, root: expected }: OpenedCheckpoint): void {
  if (isSame(root, expected)) return
  throw new ForkedLogError(
    `the first ${size} entries of the database differ from the published log: ` +
      'restore a backup of this ledger, or the published files, so that both agree',
  )
}

/** The file that ends with the last entry of a log of this size. */
function entriesPath(size: number): string {
  const at = Math.floor((size - 1) / tileWidth)
  return logPath(tilePath({ level: 'entries', at, width: size - at * tileWidth }))
}

async function readEntries(
  files: Pick<PublicFiles, 'get'>,
  from: number,
  to: number,
  size: number,
) {
  const start = Math.floor(from / tileWidth) * tileWidth
  const file = await files.get(entriesPath(Math.min(start + tileWidth, size)))
  if (file === null) throw new Error(`the published log lacks the entries ${from} to ${to - 1}`)
  return unpackEntries(file.bytes)
    .slice(from - start, to - start)
    .map((bytes, place) => {
      const entry = parseEntry(bytes)
      if (entry !== null) return entry
      throw new ForkedLogError(`entry ${from + place} of the published log is malformed`)
    })
}
