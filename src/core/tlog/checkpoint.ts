/** Checkpoints (c2sp.org/tlog-checkpoint) and proofs for use offline (c2sp.org/tlog-proof). */
import { fromBase64, toBase64 } from '../base64.ts'
import { hashLength } from './merkle.ts'
import { formatKey, keyTitle, parseNote, signaturesBy } from './note.ts'
import type { NoteKey } from './note.ts'

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** The text of the note. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

/** Accepts and ignores lines of extensions. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin = '', size = '', base64 = ''] = text.split('\n')
  const root = hashOrNull(base64)
  if (origin === '' || root === null || !text.endsWith('\n')) return null
  const number = parseNumber(size)
  return number === null ? null : { origin, size: number, root }
}

/** The message states the defect of the note. */
export class NoteError extends Error {
  override readonly name = 'NoteError'
}

export interface OpenedCheckpoint extends Checkpoint {
  readonly note: string
  readonly cosigned: readonly { readonly key: NoteKey; readonly time: number }[]
}

/**
 * Reads a note with its signatures by the log and by the witnesses that have signed. The caller verifies each of the
 * signatures.
 * @throws NoteError if the note is malformed or not signed by the log
 */
export function readSignedCheckpoint(
  note: string,
  log: NoteKey,
  witnesses: readonly NoteKey[] = [],
) {
  const parsed = parseNote(note)
  const checkpoint = parsed === null ? null : parseCheckpoint(parsed.text)
  if (parsed === null || checkpoint === null) throw new NoteError('this is not a signed checkpoint')
  if (checkpoint.origin !== log.name) {
    throw new NoteError(`the checkpoint is of the log ${checkpoint.origin} instead of ${log.name}`)
  }
  const signed = [log, ...witnesses].map((key) =>
    signaturesBy(key, parsed).map((one) => ({ ...one, key })),
  )
  if (signed[0]?.length === 0) {
    throw new NoteError(`the checkpoint has no signature by ${formatKey(log)}`)
  }
  const cosigned = signed
    .slice(1)
    .flatMap((list) => list.slice(0, 1).map(({ key, time }) => ({ key, time: time ?? 0 })))
  const opened: OpenedCheckpoint = { ...checkpoint, note, cosigned }
  return { checkpoint: opened, signatures: signed.flat() }
}

export function badSignature(key: NoteKey): NoteError {
  return new NoteError(`the signature by ${keyTitle(key)} is not valid`)
}

export interface LogProof {
  /** The bytes of the entry, of which the leaf hash follows; null if the reader must have them. */
  readonly entry: Uint8Array | null
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

const version = 'c2sp.org/tlog-proof@v1'

export function formatProof({ entry, index, hashes, checkpoint }: LogProof): string {
  const extra = entry === null ? [] : [`extra ${toBase64(entry)}`]
  const lines = [version, ...extra, `index ${index}`, ...hashes.map(toBase64)]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Null for a malformed proof. */
export function parseProof(text: string): LogProof | null {
  const end = text.indexOf('\n\n')
  const [first, ...lines] = text.slice(0, Math.max(0, end)).split('\n')
  const extra = lines[0]?.startsWith('extra ') === true ? lines.shift() : undefined
  const entry = extra === undefined ? null : fromBase64(extra.slice('extra '.length))
  const index = parseNumber(/^index (.*)$/.exec(lines.shift() ?? '')?.[1] ?? '')
  const hashes = parseHashes(lines)
  const isMalformed = extra !== undefined && entry === null
  if (first !== version || isMalformed || index === null || hashes === null) return null
  return { entry, index, hashes, checkpoint: text.slice(end + 2) }
}

export function parseHashes(lines: readonly string[]): readonly Uint8Array[] | null {
  const hashes = lines.map(hashOrNull).filter((hash) => hash !== null)
  return hashes.length === lines.length ? hashes : null
}

/** A decimal below 2 ** 53 without leading zeros, or null. */
export function parseNumber(text: string): number | null {
  const number = Number(text)
  return /^(?:0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(number) ? number : null
}

function hashOrNull(base64: string): Uint8Array | null {
  const bytes = fromBase64(base64)
  return bytes?.length === hashLength ? bytes : null
}
