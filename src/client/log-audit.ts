/** Audits the entries of a log in order, each against the entries before it. Needs 2 bytes per entry and 32 MiB. */
import { sha256 } from '@noble/hashes/sha2'

import { bytesToHex } from '../core/hex.ts'
import { parseEntry } from '../core/tlog/entry.ts'
import type { LogEntry } from '../core/tlog/entry.ts'
import { LogError } from './log.ts'
import type { LogTree } from './log.ts'

const utf8 = new TextEncoder()
const entriesOfPart = 2 ** 20

/**
 * Ids and first entries of chains are in a Bloom filter of 2 ** 28 bits. It has no false positives in most logs of up to 6
 * million entries, and some thousands in logs of 20 million, which `settle` rules out. Chains are compared by a hash of 16
 * bits, so one of 65,535 wrong predecessors goes unnoticed. `salt` is random, so that an operator cannot choose entries by
 * their hashes.
 */
export function createLogAudit(salt: Uint8Array) {
  let size = 0
  /** The time of the last entry, null before the first one. */
  let at: string | null = null
  let version = 0
  const filter = new Uint32Array(2 ** 23)
  const hashBytes = new Uint8Array(32)
  const hashWords = new Uint32Array(hashBytes.buffer)
  /** By index, in parts: the tag of the chain, and 0 once another entry of the chain follows. */
  const ends: Uint16Array[] = []
  /** Hashes that the filter reported as known. */
  const doubts = new Set<string>()
  let lastDoubt = 0

  // One hash object and one array for all hashes: those of millions of entries would fragment the memory.
  const salted = sha256.create().update(salt)
  const hasher = salted.clone()
  const hashOf = (text: string) => {
    salted._cloneInto(hasher).update(utf8.encode(text)).digestInto(hashBytes)
    return hashBytes.slice()
  }
  const chainOf = ({ kind, subject }: LogEntry) => hashOf(`chain ${kind} ${subject}`)

  /** The hashes that must not occur twice, each with the error text for a repetition. */
  function uniqueIn(entry: LogEntry): (readonly [hash: Uint8Array, reason: string])[] {
    const { kind, id, subject, prev } = entry
    const ofId = [hashOf(`id ${kind} ${id}`), 'has an id that occurred before'] as const
    if (prev !== null) return [ofId]
    return [ofId, [chainOf(entry), `about ${subject} wrongly names none as its predecessor`]]
  }

  function mark(hash: Uint8Array): void {
    let isKnown = true
    hashBytes.set(hash)
    for (const word of hashWords) {
      const place = word >>> 9
      const bit = 1 << ((word >>> 4) & 31)
      const bits = filter[place] ?? 0
      isKnown &&= (bits & bit) !== 0
      filter[place] = bits | bit
    }
    if (!isKnown) return
    doubts.add(bytesToHex(hash))
    lastDoubt = size
  }

  /** Returns the entry. @throws LogError if it breaks a rule of the log */
  function add(bytes: Uint8Array): LogEntry {
    const entry = parseEntry(bytes)
    if (entry === null) throw wrongEntry(size, 'is not the canonical form of an entry')
    const { subject, prev } = entry
    if (at !== null && Date.parse(entry.at) < Date.parse(at)) {
      throw wrong(size, entry, `has the time ${entry.at}, before ${at} of its predecessor`)
    }
    const [high = 0, low = 0] = subject === undefined ? [] : chainOf(entry)
    const tag = subject === undefined ? 0 : high * 256 + low || 1
    const before = typeof prev === 'number' ? ends[Math.floor(prev / entriesOfPart)] : undefined
    const isNext = typeof prev === 'number' && before?.[prev % entriesOfPart] === tag
    if (subject === undefined ? prev !== undefined : prev !== null && !isNext) {
      const about = subject === undefined ? 'without a subject' : `about ${subject}`
      throw wrong(size, entry, `${about} wrongly names ${prev ?? 'none'} as its predecessor`)
    }
    if (entry.kind === 'snapshot' && entry.version <= version) {
      const reason = `has the version ${entry.version}, not above ${version} of the manifest before it`
      throw wrong(size, entry, reason)
    }
    if (entry.kind === 'snapshot') version = entry.version
    if (typeof prev === 'number' && before !== undefined) before[prev % entriesOfPart] = 0
    if (size % entriesOfPart === 0) ends.push(new Uint16Array(entriesOfPart))
    const part = ends.at(-1)
    if (part !== undefined) part[size % entriesOfPart] = tag
    for (const [hash] of uniqueIn(entry)) mark(hash)
    at = entry.at
    size += 1
    return entry
  }

  /**
   * Reads the entries again if at least `most` of them may repeat an earlier one. Must be called at the end, or repetitions go
   * unnoticed. @throws LogError for the first repetition
   */
  async function settle(entriesOf: LogTree['entriesOf'], most = 1): Promise<void> {
    if (doubts.size < most) return
    const seen = new Set<string>()
    for (let [tile, index] = [0, 0]; index <= lastDoubt; tile += 1) {
      for (const bytes of await entriesOf(tile)) {
        const entry = parseEntry(bytes)
        for (const [hash, reason] of entry === null ? [] : uniqueIn(entry)) {
          const known = bytesToHex(hash)
          if (!doubts.has(known)) continue
          if (entry !== null && seen.has(known)) throw wrong(index, entry, reason)
          seen.add(known)
        }
        index += 1
      }
    }
    doubts.clear()
  }

  return { add, settle, at: (): string | null => at }
}

function wrongEntry(index: number, reason: string): LogError {
  return new LogError('entries', `entry ${index} ${reason}`)
}

function wrong(index: number, { kind, id }: LogEntry, reason: string): LogError {
  return wrongEntry(index, `(${kind} ${id}) ${reason}`)
}
