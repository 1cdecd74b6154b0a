/** Compares the rows that a ledger serves with the entries of its log, in both directions. */
import { createHash } from 'node:crypto'

import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import type { LogEntry, LogEntryKind } from '../../src/core/tlog/entry.ts'
import type { ServedRow } from './served-rows.ts'

/** Lists may be this much older than the log, and rows this much out of the order of their entries. */
const toleranceMs = hourMs
/** Articles have a date without a time, often of another day. */
const articleToleranceMs = 8 * dayMs
const shownProblems = 3
/** A row of these kinds may return to an earlier form, which has an entry. */
const versioned: readonly LogEntryKind[] = ['article', 'platform']
/** Rows of these kinds have several entries, whose ids begin with the same word. */
const changing: readonly LogEntryKind[] = [...versioned, 'check', 'flag', 'key']

/** By hashes, which need less memory than texts. */
interface Row extends Pick<ServedRow, 'kind' | 'timeMs' | 'mayLack' | 'index'> {
  readonly value: number
  isLogged: boolean
  /** The last entry with another hash, and when it replaced or ended the logged row. */
  other: number | null
  endedAtMs: number | null
}

/** Needs about 200 bytes for each row. `salt` is random, so that an operator cannot choose rows by their hashes. */
export function createLogComparison(salt: Uint8Array, nowMs: number) {
  const rows = new Map<number, Row>()
  /** The oldest row of each full list. */
  const ends = new Map<string, Row>()
  const missing = new Map<number, { kind: LogEntryKind; atMs: number; text: string }>()
  const tallies = new Map<LogEntryKind, { served: number; older: number; problems: string[] }>()
  let withheld = 0
  /** The times of the first entry and of the first article. */
  let [logMs, articlesMs]: (number | null)[] = [null, null]
  /** The latest time of a row, at first that of the first entry. */
  let latestMs = 0

  /** 53 bits. */
  function hashOf(...parts: readonly string[]): number {
    const digest = createHash('sha256').update(salt).update(parts.join(' ')).digest()
    return digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) % 32)
  }

  const isRecent = (atMs: number) => atMs >= nowMs - toleranceMs

  function tallyOf(kind: LogEntryKind) {
    const tally = tallies.get(kind) ?? { served: 0, older: 0, problems: [] }
    tallies.set(kind, tally)
    return tally
  }

  function serve(served: ServedRow): void {
    const { kind, key, sha256, name, endOf, timeMs, mayLack, index, isWithheld } = served
    const hash = hashOf(kind, key)
    const tally = tallyOf(kind)
    tally.served += 1
    if (isWithheld === true) withheld += 1
    if (rows.has(hash)) tally.problems.push(`${kind} ${name} is served twice`)
    const state = { value: hashOf(sha256), isLogged: false, other: null, endedAtMs: null }
    const row: Row = { kind, timeMs, mayLack, index, ...state }
    rows.set(hash, row)
    if (endOf !== undefined) ends.set(`${kind} ${endOf}`, row)
  }

  /** All rows must be served before. */
  function add(entry: LogEntry, index: number): void {
    const { kind, id } = entry
    const atMs = Date.parse(entry.at)
    logMs ??= latestMs = atMs
    if (kind === 'article') articlesMs ??= atMs
    const [first = ''] = changing.includes(kind) ? id.split(' ', 1) : [id]
    const hash = hashOf(kind, kind === 'snapshot' ? kind : first)
    const row = rows.get(hash)
    const text = `entry ${index} (${kind} ${id}, of ${entry.at})`
    if (row === undefined) {
      const isEnd = kind === 'flag' ? id.endsWith(' closed') : isRevocation(entry)
      if (isEnd) missing.delete(hash)
      else if (isPublic(entry)) missing.set(hash, { kind, atMs, text })
    } else if (row.value === hashOf(entry.sha256)) {
      if (!row.isLogged && row.timeMs !== undefined) checkTime(kind, row.timeMs, atMs, text)
      const isStated = row.index === null ? isRecent(atMs) : (row.index ?? index) === index
      if (!isStated) tallyOf(kind).problems.push(`the row of ${text} states another index`)
      row.isLogged = true
      row.endedAtMs = null
    } else {
      row.other = index
      if (row.isLogged && !versioned.includes(kind)) row.endedAtMs ??= atMs
    }
  }

  const isRevocation = (entry: LogEntry) => 'event' in entry && entry.event === 'revokes'

  /** Commits have rows only if there is a clone of the archive. Full lists do not show the oldest rows. */
  const isPublic = ({ kind, subject }: LogEntry) =>
    !['reputation', 'transition'].includes(kind) &&
    (kind !== 'archive' || tallies.has(kind)) &&
    ends.get(`${kind} ${subject}`)?.isLogged !== false

  function checkTime(kind: LogEntryKind, timeMs: number, atMs: number, text: string): void {
    const tally = tallyOf(kind)
    const isArticle = kind === 'article'
    const mostMs = isArticle ? articleToleranceMs : toleranceMs
    const isLate = latestMs - timeMs > mostMs
    const isFirst = atMs <= ((isArticle ? articlesMs : logMs) ?? atMs) + toleranceMs
    if (isLate && isFirst) tally.older += 1
    else if (isLate || timeMs > atMs + mostMs) {
      const why = isLate ? `but follows rows of ${isoTime(latestMs)}` : 'after its entry'
      tally.problems.push(`the row of ${text} is dated ${isoTime(timeMs)}, ${why}`)
    }
    if (!isArticle) latestMs = Math.max(latestMs, timeMs)
  }

  function problemOf({ isLogged, mayLack = false, other, endedAtMs }: Row): string | null {
    if (isLogged && !isRecent(endedAtMs ?? nowMs))
      return `is an old version, which entry ${other} replaced or ended`
    if (isLogged || mayLack) return null
    return other === null ? 'is served without an entry' : `differs from entry ${other}`
  }

  /** Reads the rows again if one of them contradicts the log, to name it. */
  async function finish(read: () => AsyncIterable<ServedRow>): Promise<readonly Check[]> {
    const bad = new Map([...rows].filter(([, row]) => problemOf(row) !== null))
    const note = (row: Row, name: string) =>
      tallyOf(row.kind).problems.push(`${row.kind} ${name} ${problemOf(row)}`)
    for await (const { kind, key, name } of bad.size > 0 ? read() : []) {
      const hash = hashOf(kind, key)
      const row = bad.get(hash)
      if (row !== undefined) note(row, name)
      bad.delete(hash)
    }
    for (const row of bad.values()) note(row, '(gone meanwhile)')
    for (const { kind, atMs, text } of missing.values())
      if (!isRecent(atMs)) tallyOf(kind).problems.push(`${text} is not served`)
    return [...tallies].map(([kind, { served, older, problems }]) => {
      const more = older === 0 ? '' : `; ${older} predate the log and were logged when it began`
      const hidden = kind !== 'dispute' || withheld === 0 ? '' : `; ${withheld} withheld`
      const good = `${served} served, each with its entry, and no entry lacks its row${more}${hidden}`
      const bad = `${problems.slice(0, shownProblems).join('; ')}; ${problems.length} in all`
      return check(kind, problems.length === 0, good, bad)
    })
  }

  const hasUnlogged = () => [...rows.values()].some((row) => !row.isLogged && row.mayLack !== true)
  return { serve, add, hasUnlogged, finish }
}
