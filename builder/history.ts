import type { Kysely } from 'kysely'

import type { EvidencePointer } from '../src/core/figures.ts'
import { pollsAfter } from '../src/db/polls.ts'
import type { Database } from '../src/db/schema.ts'
import { evidenceOf, pollRecordOf } from './rails/stored.ts'
import type { PollRecord } from './world.ts'

export interface History {
  /** Every poll by rail, newest first. */
  readonly polls: ReadonlyMap<string, readonly PollRecord[]>
  /** What the last good poll of a rail read. */
  readonly evidence: ReadonlyMap<string, readonly EvidencePointer[]>
}

const pageSize = 5000

/**
 * The history of all rails, read once and then only what is new: polls are never changed, so a build costs what
 * happened since the last one and not what ever happened.
 */
export function createHistory(reader: Kysely<Database>): () => Promise<History> {
  const polls = new Map<string, PollRecord[]>()
  const evidence = new Map<string, readonly EvidencePointer[]>()
  let lastId = 0
  return async () => {
    for (;;) {
      const rows = await pollsAfter(reader, lastId, pageSize)
      const parsed = rows.map((row) => ({ row, poll: pollRecordOf(row) }))
      const added = new Map<string, PollRecord[]>()
      for (const { row, poll } of parsed) {
        lastId = row.id
        added.set(row.rail, [poll, ...(added.get(row.rail) ?? [])])
        if (row.outcome === 'ok') evidence.set(row.rail, evidenceOf(row))
      }
      for (const [rail, newest] of added) polls.set(rail, [...newest, ...(polls.get(rail) ?? [])])
      if (rows.length < pageSize) return { polls, evidence }
    }
  }
}
