/** Derives the trees that a power cut can leave from an strace recording: unflushed changes may be missing. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, posix } from 'node:path'

import { unhex } from '../../e2e/recorded-disk.ts'

/** The system calls that change or flush names and files. */
export const tracedCalls =
  'openat,write,pwrite64,fsync,fdatasync,syncfs,mkdir,mkdirat,link,linkat,symlink,symlinkat,' +
  'rename,renameat,renameat2,unlink,unlinkat,rmdir'

interface File {
  readonly kind: 'file'
  bytes: Buffer | null
  /** True if it was written since its last flush. */
  dirty: boolean
}
interface Link {
  readonly kind: 'link'
  readonly target: string
}
interface Folder {
  readonly kind: 'folder'
  /** The state that the program sees. */
  readonly now: Map<string, Entry>
  /** The flushed state, which survives every cut. */
  readonly kept: Map<string, Entry>
}
type Entry = File | Link | Folder

/** The atomic effect of one call on names. */
type Change = readonly {
  readonly folder: Folder
  readonly name: string
  readonly entry: Entry | null
}[]

export interface Disk {
  readonly name: string
  /** True if nothing is missing: what readers saw before the cut. */
  readonly isWhole: boolean
  /** Contents of the file at a path below the directory, through symbolic links; null if there is none. */
  readonly read: (path: string) => Buffer | null
}

const fates = ['nothing', 'everything', 'the first of it', 'some of it'] as const

/** Two copies of the tree before the program runs: one to find the created files, one to cut. */
export interface Before {
  readonly place: string
  readonly roots: readonly [Folder, Folder]
}

export function before(place: string): Before {
  return { place, roots: [load(place), load(place)] }
}

/**
 * Every disk that a cut can leave, before each flush and at the end, with the number of traced calls before it. Call it
 * when the program has ended.
 */
export function* disksAfterCuts(
  { place, roots: [whole, root] }: Before,
  trace: readonly string[],
  random: () => number,
): Generator<readonly [Disk, number]> {
  const learnt = replay(place, whole, [], () => 0)
  for (const line of trace) for (const disk of learnt.play(line)) void disk
  readNew(whole, place)
  const bytes = learnt.made.map((file) => file.bytes)
  const { play, cut } = replay(place, root, bytes, random)
  for (const [at, line] of trace.entries()) for (const disk of play(line)) yield [disk, at]
  for (const disk of cut()) yield [disk, trace.length]
}

/**
 * `play` yields the disks that a cut can leave before the end of a flush, `cut` those after the last line.
 * @param bytes contents of the created files, in the order of their creation; lines of `strace -xx` have them
 */
export function replay(
  place: string,
  root: Folder,
  bytes: readonly (Buffer | null)[],
  random: () => number,
) {
  const made: File[] = []
  let pending: readonly Change[] = []
  const underWay = new Map<string, string>()
  let flushes = 0

  const find = (path: string): { folder: Folder; name: string } | null => {
    if (!path.startsWith(`${place}/`)) return null
    const parts = path.slice(place.length + 1).split('/')
    const name = parts.pop() ?? ''
    let folder = root
    for (const part of parts) {
      const next = folder.now.get(part)
      if (next?.kind !== 'folder') return null
      folder = next
    }
    return { folder, name }
  }
  const entryAt = (path: string): Entry | undefined => {
    if (path === place) return root
    const at = find(path)
    return at?.folder.now.get(at.name)
  }
  const change = (...parts: readonly (readonly [string, Entry | null])[]): void => {
    const all = parts.map(([path, entry]) => {
      const at = find(path)
      if (at === null) throw new Error(`no such directory: ${path}`)
      if (entry === null) at.folder.now.delete(at.name)
      else at.folder.now.set(at.name, entry)
      return { ...at, entry }
    })
    pending = [...pending, all]
  }

  const make = (): File => {
    const file: File = { kind: 'file', bytes: bytes[made.length] ?? null, dirty: true }
    made.push(file)
    return file
  }

  function* cut(): Generator<Disk> {
    flushes += 1
    for (const fate of fates) {
      const first = Math.floor(random() * (pending.length + 1))
      const there = pending.filter((_change, at) =>
        fate === 'the first of it'
          ? at < first
          : fate === 'everything' || (fate === 'some of it' && random() < 0.5),
      )
      const names = new Map<Folder, Map<string, Entry | null>>()
      for (const { folder, name, entry } of there.flat()) {
        const known = names.get(folder) ?? new Map<string, Entry | null>()
        names.set(folder, known.set(name, entry))
      }
      yield {
        name: `flush ${flushes}, ${fate}`,
        isWhole: fate === 'everything',
        read: readerOf(root, names, fate === 'everything'),
      }
    }
  }

  function flush(entry: Entry | undefined): void {
    if (entry?.kind === 'file') entry.dirty = false
    if (entry?.kind !== 'folder') return
    const touches = (one: Change): boolean => one.some(({ folder }) => folder === entry)
    for (const { folder, name, entry: made } of pending.filter(touches).flat()) {
      if (made === null) folder.kept.delete(name)
      else folder.kept.set(name, made)
    }
    pending = pending.filter((one) => !touches(one))
  }

  function flushAll(folder: Folder): void {
    flush(folder)
    for (const entry of folder.now.values()) {
      if (entry.kind === 'folder') flushAll(entry)
      else flush(entry)
    }
  }

  function* play(line: string): Generator<Disk> {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const resumed = /^<\.\.\. (\w+) resumed>/.exec(text)
    // A change of names may take effect at its start; a flush counts from its end.
    const isOpen = text.endsWith('<unfinished ...>')
    if (isOpen) underWay.set(thread, text)
    const begun = resumed === null ? text : (underWay.get(thread) ?? '')
    const call = /^(\w+)\(/.exec(begun)?.[1] ?? ''
    const isFlush = ['fsync', 'fdatasync', 'syncfs'].includes(call)
    if (isFlush ? isOpen : resumed !== null) return
    if (/ = -1 E/.test(text)) return
    const held = unhex(/^\w+\(\d+<([^>]*)>/.exec(begun)?.[1] ?? '').toString()
    const paths = [...begun.matchAll(/"([^"]*)"/g)].map(([, path = '']) => unhex(path).toString())
    const [first = '', second = ''] = paths
    switch (call) {
      case 'fsync':
      case 'fdatasync':
        if (entryAt(held) === undefined) return
        yield* cut()
        flush(entryAt(held))
        return
      case 'syncfs':
        yield* cut()
        flushAll(root)
        return
      case 'write':
      case 'pwrite64': {
        const file = entryAt(held)
        if (file?.kind !== 'file') return
        file.dirty = true
        const [, hex] = /"((?:\\x[0-9a-f]{2})+)", /.exec(begun) ?? []
        if (hex !== undefined) file.bytes ??= Buffer.from(hex.replaceAll('\\x', ''), 'hex')
        return
      }
      case 'openat':
        if (begun.includes('O_CREAT') && find(first) !== null && entryAt(first) === undefined)
          change([first, make()])
        return
      case 'mkdir':
      case 'mkdirat':
        if (find(first) !== null && entryAt(first) === undefined)
          change([first, { kind: 'folder', now: new Map(), kept: new Map() }])
        return
      case 'symlink':
      case 'symlinkat':
        if (find(second) !== null) change([second, { kind: 'link', target: first }])
        return
      case 'link':
      case 'linkat': {
        const entry = entryAt(first)
        if (entry !== undefined) change([second, entry])
        return
      }
      case 'rename':
      case 'renameat':
      case 'renameat2': {
        const entry = entryAt(first)
        if (entry !== undefined) change([second, entry], [first, null])
        return
      }
      case 'unlink':
      case 'unlinkat':
      case 'rmdir':
        if (entryAt(first) !== undefined) change([first, null])
        return
      default:
    }
  }
  return { play, cut, made }
}

export function load(path: string): Folder {
  const entries = readdirSync(path, { withFileTypes: true }).map((found): [string, Entry] => {
    const at = join(path, found.name)
    if (found.isDirectory()) return [found.name, load(at)]
    if (found.isSymbolicLink()) return [found.name, { kind: 'link', target: readlinkSync(at) }]
    return [found.name, { kind: 'file', bytes: readFileSync(at), dirty: false }]
  })
  return { kind: 'folder', now: new Map(entries), kept: new Map(entries) }
}

function readNew(folder: Folder, path: string): void {
  for (const [name, entry] of folder.now) {
    if (entry.kind === 'folder') readNew(entry, join(path, name))
    if (entry.kind === 'file' && entry.bytes === null) entry.bytes = readFileSync(join(path, name))
  }
}

function readerOf(
  root: Folder,
  names: ReadonlyMap<Folder, ReadonlyMap<string, Entry | null>>,
  isLucky: boolean,
): Disk['read'] {
  const lookUp = (folder: Folder, name: string): Entry | null => {
    const changed = names.get(folder)?.get(name)
    return changed === undefined ? (folder.kept.get(name) ?? null) : changed
  }
  const dirty = new Set<File>()
  const collect = (folder: Folder): void => {
    for (const entry of folder.now.values()) {
      if (entry.kind === 'folder') collect(entry)
      else if (entry.kind === 'file' && entry.dirty) dirty.add(entry)
    }
  }
  collect(root)
  const read = (path: string): Buffer | null => {
    let folder = root
    const parts = posix.normalize(path).split('/')
    for (const [at, part] of parts.entries()) {
      const entry = lookUp(folder, part)
      if (entry === null) return null
      if (entry.kind === 'link') {
        const rest = parts.slice(at + 1)
        return read([...parts.slice(0, at), entry.target, ...rest].join('/'))
      }
      if (entry.kind === 'folder') {
        folder = entry
        continue
      }
      const isWhole = isLucky || !dirty.has(entry)
      return isWhole ? entry.bytes : Buffer.alloc(0)
    }
    return null
  }
  return read
}
