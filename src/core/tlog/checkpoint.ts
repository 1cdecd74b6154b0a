/** Checkpoints (c2sp.org/tlog-checkpoint) and proofs for use offline (c2sp.org/tlog-proof). */
import { fromBase64, toBase64 } from '../base64.ts'
import { hashLength } from './merkle.ts'

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

export interface LogProof {
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

const version = 'c2sp.org/tlog-proof@v1'

export function formatProof({ index, hashes, checkpoint }: LogProof): string {
  const lines = [version, `index ${index}`, ...hashes.map(toBase64)]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Accepts and ignores extra data. */
export function parseProof(text: string): LogProof | null {
  const end = text.indexOf('\n\n')
  const [first, ...lines] = text.slice(0, Math.max(0, end)).split('\n')
  if (lines[0]?.startsWith('extra ') === true) lines.shift()
  const index = parseNumber(/^index (.*)$/.exec(lines.shift() ?? '')?.[1] ?? '')
  const hashes = parseHashes(lines)
  if (first !== version || index === null || hashes === null) return null
  return { index, hashes, checkpoint: text.slice(end + 2) }
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
