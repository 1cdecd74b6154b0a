/** Derives the disks that a power cut could leave from an strace recording: unflushed sectors may be missing. */
import { createReadStream } from 'node:fs'
import { relative } from 'node:path'
import { createInterface } from 'node:readline'

/** System calls of SQLite's writes and Node's responses. */
export const tracedCalls = 'pwrite64,fsync,fdatasync,ftruncate,unlink,write,writev'
/** More than a page, the response to one request or the entries of a tile of the log. */
export const tracedBytes = 200_000

interface Write {
  readonly kind: 'write'
  readonly file: string
  readonly offset: number
  readonly bytes: Buffer
}

interface Truncate {
  readonly kind: 'truncate'
  readonly file: string
  readonly size: number
}

type Change = Write | Truncate

export type DiskEvent =
  | Change
  | { readonly kind: 'sync'; readonly file: string }
  | { readonly kind: 'unlink'; readonly file: string }
  | { readonly kind: 'answer'; readonly receiptIds: readonly string[] }

/** Reads the output of `strace -f -y -xx`. Files are named relative to `directory`. */
export async function readTrace(path: string, directory: string): Promise<readonly DiskEvent[]> {
  const read = createLineReader(directory)
  const events: DiskEvent[] = []
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const event = read(line)
    if (event !== null) events.push(event)
  }
  return events
}

/** Call the returned function with each line, in order. */
export function createLineReader(directory: string): (line: string) => DiskEvent | null {
  /** Unfinished flushes by thread: a flush takes effect at its end. */
  const unfinished = new Map<string, DiskEvent>()
  return (line) => {
    const [, thread = '', text = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (text.startsWith('<... ')) {
      const event = unfinished.get(thread)
      unfinished.delete(thread)
      return event === undefined ? null : succeeded(event, text)
    }
    const event = eventOf(text, directory)
    // An unfinished flush has no effect; any other unfinished call may have taken effect.
    if (event?.kind !== 'sync') return event
    if (!text.endsWith('<unfinished ...>')) return succeeded(event, text)
    unfinished.set(thread, event)
    return null
  }
}

function succeeded(event: DiskEvent, text: string): DiskEvent {
  if (!/ = \d+$/.test(text)) throw new Error(`a recorded call failed: ${text}`)
  return event
}

type ToEvent = (file: string, values: readonly (string | undefined)[]) => DiskEvent

/** Patterns of the calls on a file. The first group is the path; the other groups are the values. */
const fileCalls: readonly (readonly [RegExp, ToEvent])[] = [
  [/^pwrite64\(\d+<([^>]*)>, "((?:\\x[0-9a-f]{2})*)"(\.\.\.)?, (\d+), (\d+)/, written],
  [/^(?:fsync|fdatasync)\(\d+<([^>]*)>/, (file) => ({ kind: 'sync', file })],
  [
    /^ftruncate\(\d+<([^>]*)>, (\d+)/,
    (file, [size]) => ({ kind: 'truncate', file, size: Number(size) }),
  ],
  [/^unlink\("((?:\\x[0-9a-f]{2})*)"/, (file) => ({ kind: 'unlink', file })],
]

function written(
  file: string,
  [hex = '', cut, length, offset]: readonly (string | undefined)[],
): DiskEvent {
  const bytes = unhex(hex)
  if (cut !== undefined || bytes.length !== Number(length)) throw new Error('a write was cut off')
  return { kind: 'write', file, offset: Number(offset), bytes }
}

function eventOf(text: string, directory: string): DiskEvent | null {
  for (const [pattern, toEvent] of fileCalls) {
    const match = pattern.exec(text)
    if (match === null) continue
    const [, path = '', ...values] = match
    const file = relative(directory, unhex(path).toString())
    // SQLite rebuilds the shared-memory index of the WAL when it opens the file after a power cut.
    return file === 'ledger.db' || file === 'ledger.db-wal' ? toEvent(file, values) : null
  }
  return /^writev?\(/.test(text) ? answerIn(text) : null
}

/** Ids of receipts in a response with status 201. */
function answerIn(text: string): DiskEvent | null {
  const parts = [...text.matchAll(/"((?:\\x[0-9a-f]{2})+)"/g)]
  const sent = parts.map(([, hex = '']) => unhex(hex).toString('latin1')).join('')
  if (!sent.startsWith('HTTP/1.1 201 ')) return null
  const ids = [...sent.matchAll(/"receipt_id":"(rcp_[0-9a-f]{64})"/g)]
  return { kind: 'answer', receiptIds: ids.map(([, id = '']) => id) }
}

/** Decodes `\x61\x62`; leaves other text unchanged. */
export function unhex(text: string): Buffer {
  return text.startsWith('\\x') ? Buffer.from(text.replaceAll('\\x', ''), 'hex') : Buffer.from(text)
}

export interface Disk {
  readonly files: ReadonlyMap<string, Buffer>
  /** Receipts acknowledged before the power cut. */
  readonly answered: ReadonlySet<string>
  /** For messages of failed tests. */
  readonly name: string
}

const SECTOR_BYTES = 512
const fates = ['nothing', 'everything', 'some sectors'] as const
type Fate = (typeof fates)[number]

/** Every disk that a power cut could leave before the end of each flush and after the last call. */
export function* disksAfterCuts(
  events: readonly DiskEvent[],
  random: () => number,
): Generator<Disk> {
  const { play, cut } = replayDisk(random)
  for (const event of events) yield* play(event)
  yield* cut()
}

/** `play` yields the disks that a power cut could leave before the end of a flush, `cut` those after the last event. */
export function replayDisk(random: () => number) {
  const flushed = new Map<string, Buffer>()
  const pending = new Map<string, Change[]>()
  const answered = new Set<string>()
  let cuts = 0

  function* cut(): Generator<Disk> {
    cuts += 1
    const unsure = [...pending.values()].some((changes) => changes.length > 0)
    for (const fate of unsure ? fates : (['nothing'] as const)) {
      const files = new Map(flushed)
      for (const [file, changes] of pending) {
        const left = changes.flatMap((change) => leftOf(change, fate, random))
        if (left.length > 0) files.set(file, changed(flushed.get(file), left))
      }
      const name = `cut ${cuts}, ${fate} of what was not flushed`
      yield { files, answered: new Set(answered), name }
    }
  }

  function* play(event: DiskEvent): Generator<Disk> {
    switch (event.kind) {
      case 'answer':
        for (const id of event.receiptIds) answered.add(id)
        break
      case 'sync':
        yield* cut()
        flushed.set(event.file, changed(flushed.get(event.file), pending.get(event.file) ?? []))
        pending.delete(event.file)
        break
      case 'unlink':
        flushed.delete(event.file)
        pending.delete(event.file)
        break
      case 'write':
      case 'truncate':
        pending.set(event.file, [...(pending.get(event.file) ?? []), event])
    }
  }
  return { play, cut }
}

/** Disks write whole sectors, in any order. */
function leftOf(change: Change, fate: Fate, random: () => number): readonly Change[] {
  if (fate === 'nothing') return []
  if (fate === 'everything') return [change]
  if (change.kind === 'truncate') return random() < 0.5 ? [change] : []
  const sectors: Write[] = []
  for (let at = 0; at < change.bytes.length; at += SECTOR_BYTES) {
    if (random() < 0.5) continue
    const bytes = change.bytes.subarray(at, at + SECTOR_BYTES)
    sectors.push({ ...change, offset: change.offset + at, bytes })
  }
  return sectors
}

function changed(before: Buffer | undefined, changes: readonly Change[]): Buffer {
  let size = before?.length ?? 0
  for (const change of changes) {
    if (change.kind === 'write') size = Math.max(size, change.offset + change.bytes.length)
  }
  const content = Buffer.alloc(size)
  before?.copy(content)
  let length = before?.length ?? 0
  for (const change of changes) {
    if (change.kind === 'write') {
      change.bytes.copy(content, change.offset)
      length = Math.max(length, change.offset + change.bytes.length)
    } else {
      content.fill(0, change.size)
      length = change.size
    }
  }
  return content.subarray(0, length)
}
