/** Audits the entries of a log in order: what each must be, given those before it. */
import { z } from 'zod'

import { parseEntry } from '../core/tlog/entry.ts'
import type { LogEntry } from '../core/tlog/entry.ts'
import { LogError } from './log.ts'

/** The entry with this index breaks a rule of the log. */
export class WrongEntryError extends LogError {
  override readonly name = 'WrongEntryError'
  readonly index: number

  constructor(index: number, reason: string) {
    super('entries', `entry ${index} ${reason}`)
    this.index = index
  }
}

export const logAuditState = z.strictObject({
  size: z.int().min(0),
  /** The time of the last entry. */
  at: z.string().nullable(),
  /** `<kind> <id>` of each entry. */
  ids: z.array(z.string()),
  /** The index of the last entry of each `<kind> <subject>`. */
  last: z.array(z.tuple([z.string(), z.int()])),
  /** Of the last manifest. */
  version: z.int().default(0),
})
export type LogAuditState = z.infer<typeof logAuditState>

export interface LogAudit {
  /** Returns the entry. @throws WrongEntryError, after which the same index is expected again */
  readonly add: (bytes: Uint8Array) => LogEntry
  readonly size: () => number
  /** The time of the last entry, null before the first one. */
  readonly at: () => string | null
  /** From which another audit continues. */
  readonly toJSON: () => LogAuditState
}

export function createLogAudit(state?: LogAuditState): LogAudit {
  let { size = 0, at = null, version = 0 } = state ?? {}
  const ids = new Set(state?.ids)
  const last = new Map(state?.last)

  function add(bytes: Uint8Array): LogEntry {
    const entry = parseEntry(bytes)
    if (entry === null) throw new WrongEntryError(size, 'is not the canonical form of an entry')
    const { kind, subject, prev } = entry
    const wrong = (reason: string) => new WrongEntryError(size, `(${kind} ${entry.id}) ${reason}`)
    if (at !== null && Date.parse(entry.at) < Date.parse(at)) {
      throw wrong(`has the time ${entry.at}, before ${at} of its predecessor`)
    }
    const id = `${kind} ${entry.id}`
    if (ids.has(id)) throw wrong('has an id that occurred before')
    const chain = `${kind} ${subject}`
    const expected = subject === undefined ? undefined : (last.get(chain) ?? null)
    if (prev !== expected) {
      const about = subject === undefined ? 'without a subject' : `about ${subject}`
      throw wrong(
        `${about} names ${prev ?? 'none'} as the one before it, not ${expected ?? 'none'}`,
      )
    }
    if (kind === 'snapshot' && entry.version <= version) {
      throw wrong(
        `has the version ${entry.version}, not above ${version} of the manifest before it`,
      )
    }
    ids.add(id)
    if (kind === 'snapshot') version = entry.version
    if (subject !== undefined) last.set(chain, size)
    at = entry.at
    size += 1
    return entry
  }

  return {
    add,
    size: () => size,
    at: () => at,
    toJSON: () => ({ size, at, ids: [...ids], last: [...last], version }),
  }
}
