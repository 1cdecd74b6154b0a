/** Reads a log (c2sp.org/tlog-tiles), and accepts only what follows from a signed checkpoint. Runs in browsers, too. */
import { check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import { createSerialQueue } from '../core/concurrency.ts'
import {
  NoteError,
  badSignature,
  parseProof,
  readSignedCheckpoint,
} from '../core/tlog/checkpoint.ts'
import type { Checkpoint, OpenedCheckpoint } from '../core/tlog/checkpoint.ts'
import { parseEntry, promiseText } from '../core/tlog/entry.ts'
import type { LogEntry } from '../core/tlog/entry.ts'
import {
  consistencyProof,
  hashLength,
  includes,
  isConsistent,
  isSame,
  leafHash,
  rootOf,
} from '../core/tlog/merkle.ts'
import type { ReadNode } from '../core/tlog/merkle.ts'
import { parseNote, signaturesBy } from '../core/tlog/note.ts'
import type { NoteKey, NoteSignature } from '../core/tlog/note.ts'
import { nodesOf, subtreeRoot, tilePath, tileWidth, unpackEntries } from '../core/tlog/tiles.ts'
import type { ReadTile, Tile } from '../core/tlog/tiles.ts'

/** Returns a file of the log, such as `checkpoint`; null if there is none. */
export type ReadLogFile = (path: string) => Promise<Uint8Array | null>

export interface LogSource {
  readonly key: NoteKey
  /** Each of them must have cosigned before a checkpoint counts as witnessed. */
  readonly witnesses: readonly NoteKey[]
  /** Number of witnesses that suffice if none is demanded. */
  readonly quorum?: number
  readonly read: ReadLogFile
  /** Reads the tiles of a checkpoint seen before, if `read` is a copy that is behind it. Default: `read`. */
  readonly readAhead?: ReadLogFile
  /** Verifies Ed25519. */
  readonly isSigned: (
    message: Uint8Array,
    signature: Uint8Array,
    publicKey: Uint8Array,
  ) => boolean | Promise<boolean>
}

/** Stores the signed note of the newest checkpoint seen. */
export interface CheckpointStore {
  readonly load: () => Promise<string | null>
  readonly save: (note: string) => Promise<void>
}

/** A check failed. */
export class LogError extends Error {
  override readonly name: string = 'LogError'
  /** The subject of the check. */
  readonly what: string

  constructor(what: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.what = what
  }
}

class MissingTileError extends LogError {}

const lagging = 'of a copy that lags, or of a log that has lost entries, without the tiles of size'

/** The log has signed two checkpoints of which neither continues the other; both notes prove it. */
export class InconsistentLogError extends LogError {
  override readonly name = 'InconsistentLogError'
  readonly notes: readonly [string, string]

  constructor(seen: OpenedCheckpoint, found: OpenedCheckpoint, options?: ErrorOptions) {
    const [before, now] = [describeCheckpoint(seen), describeCheckpoint(found)]
    super(
      'consistency',
      `the log has forked: ${now} contradicts ${before}, which was seen before`,
      options,
    )
    this.notes = [seen.note, found.note]
  }
}

export function describeCheckpoint({ size, note }: OpenedCheckpoint): string {
  return `the checkpoint of size ${size} with the root ${note.split('\n')[2]}`
}

/** Converts an error to a failed check; rethrows other errors. */
export function failedCheck(error: unknown): Check {
  if (error instanceof LogError) return check(error.what, false, error.message)
  if (error instanceof NoteError) return check('checkpoint', false, error.message)
  throw error
}

export interface LogTree {
  readonly size: number
  /** Both throw LogError if the log contradicts the checkpoint. */
  readonly nodes: ReadNode
  /** The entries of one tile. */
  readonly entriesOf: (at: number) => Promise<readonly Uint8Array[]>
}

/** @throws LogError if the tiles do not have the root of the checkpoint */
export async function openTree({ size, root }: Checkpoint, read: ReadLogFile): Promise<LogTree> {
  const known = new Map<string, Promise<Uint8Array>>()
  let lastLeaves = ''

  async function served(tile: Tile<number | 'entries'>): Promise<Uint8Array> {
    const path = tilePath(tile)
    // The log may keep only the full tile once there is one.
    const found = (await read(path)) ?? (await read(tilePath({ ...tile, width: tileWidth })))
    if (found !== null) return found
    throw new MissingTileError('tiles', `${path} is missing, which a log of ${size} entries has`)
  }

  async function verified(tile: Tile): Promise<Uint8Array> {
    const { level, at, width } = tile
    const hashes = (await served(tile)).subarray(0, width * hashLength)
    const wrong = (reason: string) => new LogError('tiles', `${tilePath(tile)} ${reason}`)
    if (hashes.length < width * hashLength) throw wrong(`has less than ${width} hashes`)
    // The root of the tree covers the other tiles.
    if (width < tileWidth) return hashes
    const offset = (at % tileWidth) * hashLength
    const above = await tileAt(level + 1, Math.floor(at / tileWidth))
    if (isSame(subtreeRoot(hashes), above.subarray(offset, offset + hashLength))) return hashes
    throw wrong('does not have the hash that the tile above it gives')
  }

  async function tileAt(level: number, at: number): Promise<Uint8Array> {
    const name = `${level}/${at}`
    const width = Math.min(tileWidth, Math.floor(size / tileWidth ** level) - at * tileWidth)
    const found = known.get(name) ?? verified({ level, at, width })
    known.set(name, found)
    if (level === 0 && width === tileWidth && name !== lastLeaves) {
      known.delete(lastLeaves)
      lastLeaves = name
    }
    return await found
  }

  async function entriesOf(at: number): Promise<readonly Uint8Array[]> {
    const width = Math.min(tileWidth, size - at * tileWidth)
    const tile = { level: 'entries', at, width } as const
    const [hashes, bytes] = await Promise.all([tileAt(0, at), served(tile)])
    const entries = unpacked(bytes, tile).slice(0, width)
    for (let place = 0; place < width; place += 1) {
      const entry = entries[place]
      const hash = hashes.subarray(place * hashLength, (place + 1) * hashLength)
      if (entry !== undefined && isSame(leafHash(entry), hash)) continue
      throw new LogError(
        'entries',
        `entry ${at * tileWidth + place} differs from its hash in the tree`,
      )
    }
    return entries
  }

  const readTile: ReadTile = ({ level, at }) => tileAt(level, at)
  const nodes = nodesOf(size, readTile)
  if (!isSame(await rootOf(size, nodes), root)) {
    throw new LogError('tiles', `the tiles do not have the root of the checkpoint of size ${size}`)
  }
  return { size, nodes, entriesOf }
}

/** Searches the log from its end. */
export async function findLast(
  { size, entriesOf }: LogTree,
  { kind, sha256 }: Pick<LogEntry, 'kind' | 'sha256'>,
): Promise<Check> {
  for (let at = Math.ceil(size / tileWidth) - 1; at >= 0; at -= 1) {
    const place = (await entriesOf(at)).findLastIndex((bytes) => {
      const entry = parseEntry(bytes)
      return entry?.kind === kind && entry.sha256 === sha256
    })
    if (place >= 0)
      return check('entry', true, `${at * tileWidth + place}: ${kind} with the SHA-256 ${sha256}`)
  }
  return check('entry', false, `none of ${size} entries is a ${kind} with the SHA-256 ${sha256}`)
}

function unpacked(bytes: Uint8Array, tile: Tile<'entries'>): readonly Uint8Array[] {
  try {
    return unpackEntries(bytes)
  } catch (error) {
    throw new LogError('entries', `${tilePath(tile)} is cut short`, { cause: error })
  }
}

interface CheckedLog extends LogTree {
  readonly checkpoint: OpenedCheckpoint
  readonly checks: readonly Check[]
}

/** Members that an entry must have. */
export type ExpectedEntry = Partial<Pick<LogEntry, 'kind' | 'id' | 'sha256'>>

export interface ProvenEntry {
  readonly entry: LogEntry
  readonly index: number
  readonly checkpoint: OpenedCheckpoint
}

/** All methods throw LogError, InconsistentLogError or NoteError. */
export interface LogReader {
  /** Reads the newest checkpoint and compares it with the newest one seen. */
  readonly check: () => Promise<CheckedLog>
  /** Verifies a proof (c2sp.org/tlog-proof); its checkpoint is compared in the same way. `note` receives each step. */
  readonly prove: (
    proof: string,
    expected: ExpectedEntry,
    note?: (step: Check) => void,
  ) => Promise<ProvenEntry>
  /** Verifies a signed promise, which is broken if there is no proof after its time. */
  readonly checkPromise: (
    promise: string,
    receipt: Pick<LogEntry, 'id' | 'sha256'>,
    state: { readonly isProven: boolean; readonly nowMs: number },
  ) => Promise<Check>
}

export function createLogReader(source: LogSource, store = createMemoryStore()): LogReader {
  const inTurn = createSerialQueue()

  async function isValid({ key, message, signature }: NoteSignature & { readonly key: NoteKey }) {
    const { type, publicKey } = key
    if (type !== 'mlDsaWitness') return await source.isSigned(message, signature, publicKey)
    const { ml_dsa44: mlDsa44 } = await import('@noble/post-quantum/ml-dsa.js')
    return mlDsa44.verify(signature, message, publicKey)
  }

  async function open(note: string): Promise<OpenedCheckpoint> {
    const { checkpoint, signatures } = readSignedCheckpoint(note, source.key, source.witnesses)
    for (const one of signatures) if (!(await isValid(one))) throw badSignature(one.key)
    return checkpoint
  }

  function checkpointChecks(checkpoint: OpenedCheckpoint): Check[] {
    const { witnesses, quorum } = source
    const { cosigned } = checkpoint
    const missing = witnesses.filter((witness) => cosigned.every(({ key }) => key !== witness))
    const count = witnesses.length - missing.length
    const isWitnessed = count > 0 && count >= (quorum ?? 0)
    const good = quorum !== undefined || missing.length === 0
    const names = cosigned.map(({ key }) => key.name).join(', ')
    return [
      check('checkpoint', true, `size ${checkpoint.size}, signed by ${source.key.name}`),
      {
        ...check(
          'witnesses',
          good,
          isWitnessed ? `witnessed by ${names}` : 'not witnessed',
          `not witnessed: the cosignature of ${missing.map(({ name }) => name).join(', ')} is missing`,
        ),
        ...(good && !isWitnessed ? { label: 'note' as const } : {}),
      },
    ]
  }

  /** Compares with the newest checkpoint seen, and stores the newer one. */
  async function remember(found: OpenedCheckpoint, tree?: LogTree): Promise<Check> {
    const note = await store.load()
    const seen = note === null ? null : await open(note)
    const isNewer = seen === null || found.size >= seen.size
    if (seen !== null && (seen.size !== found.size || !isSame(seen.root, found.root))) {
      const [older, newer] = isNewer ? [seen, found] : [found, seen]
      const proof = await proveConsistency(older.size, newer, isNewer ? tree : undefined).catch(
        (error: unknown) => {
          if (isNewer || !(error instanceof LogError)) throw error
          if (error instanceof MissingTileError)
            throw new LogError('consistency', `behind: size ${found.size} ${lagging} ${seen.size}`)
          // The log contradicts the tree that it signed before.
          throw new InconsistentLogError(seen, found, { cause: error })
        },
      )
      if (!isConsistent(older, newer, proof)) throw new InconsistentLogError(seen, found)
    }
    if (isNewer) await store.save(found.note)
    if (seen === null) return check('consistency', true, 'no checkpoint was seen before')
    const detail = isNewer
      ? `consistent with size ${seen.size}`
      : `behind: size ${found.size} is the beginning of size ${seen.size}, which was seen before`
    return check('consistency', true, detail)
  }

  async function proveConsistency(olderSize: number, newer: OpenedCheckpoint, tree?: LogTree) {
    if (olderSize === newer.size) return []
    const { nodes } = tree ?? (await openTree(newer, source.readAhead ?? source.read))
    return await consistencyProof(olderSize, newer.size, nodes)
  }

  async function readEntry(checkpoint: Checkpoint, index: number): Promise<Uint8Array | undefined> {
    if (index >= checkpoint.size) return undefined
    const { entriesOf } = await openTree(checkpoint, source.read)
    return (await entriesOf(Math.floor(index / tileWidth)))[index % tileWidth]
  }

  return {
    checkPromise: async (text, receipt, { isProven, nowMs }) => {
      const { key } = source
      const note = parseNote(text)
      const by = note?.text.split('\n')[4] ?? ''
      const expected = promiseText({ origin: key.name, kind: 'receipt', ...receipt, by })
      const [signature] = note?.text === expected ? signaturesBy(key, note) : []
      if (signature === undefined || !(await isValid({ ...signature, key }))) {
        return check('promise', false, 'is not a promise for this receipt that the log has signed')
      }
      const broken = `and broken: the receipt is not in the log, which was promised by ${by}`
      const isKept = isProven || nowMs <= Date.parse(by)
      const outcome = isKept ? `: in the log by ${by}` : `, ${broken}`
      return check('promise', isKept, `signed by ${key.name}${outcome}`)
    },
    check: async () =>
      await inTurn(async () => {
        const bytes = await source.read('checkpoint')
        if (bytes === null) throw new LogError('checkpoint', 'the log has no checkpoint yet')
        const checkpoint = await open(new TextDecoder().decode(bytes))
        const tree = await openTree(checkpoint, source.read)
        const consistency = await remember(checkpoint, tree)
        return { ...tree, checkpoint, checks: [...checkpointChecks(checkpoint), consistency] }
      }),
    prove: async (text, expected, note = () => undefined) =>
      await inTurn(async () => {
        const proof = parseProof(text)
        if (proof === null)
          throw new LogError('proof', 'this is not a proof (c2sp.org/tlog-proof@v1)')
        const { index, hashes } = proof
        const checkpoint = await open(proof.checkpoint)
        for (const one of checkpointChecks(checkpoint)) note(one)
        const bytes = proof.entry ?? (await readEntry(checkpoint, index))
        const entry = bytes === undefined ? null : parseEntry(bytes)
        if (bytes === undefined || entry === null)
          throw new LogError('entry', `entry ${index} is malformed`)
        requireMembers(index, entry, expected)
        const { kind, id, sha256, at } = entry
        note(check('entry', true, `${index}: ${kind} ${id} with the SHA-256 ${sha256}, of ${at}`))
        const leaf = leafHash(bytes)
        if (!includes(checkpoint, { index, leaf, proof: hashes })) {
          throw new LogError(
            'inclusion',
            `the hashes do not lead from entry ${index} to the root of the checkpoint`,
          )
        }
        note(check('inclusion', true, `${hashes.length} hashes lead to the root of the checkpoint`))
        note(await remember(checkpoint))
        return { entry, index, checkpoint }
      }),
  }
}

function requireMembers(index: number, entry: LogEntry, expected: ExpectedEntry): void {
  for (const name of ['kind', 'id', 'sha256'] as const) {
    const value = expected[name]
    if (value === undefined || entry[name] === value) continue
    throw new LogError('entry', `entry ${index} has the ${name} ${entry[name]} instead of ${value}`)
  }
}

function createMemoryStore(): CheckpointStore {
  let kept: string | null = null
  return {
    load: () => Promise.resolve(kept),
    save: (note) => {
      kept = note
      return Promise.resolve()
    },
  }
}
