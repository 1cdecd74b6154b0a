import type { Kysely } from 'kysely'

import type { EvidencePointer } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { pollsAfter } from '../../src/db/polls.ts'
import type { StoredPoll } from '../../src/db/polls.ts'
import type { Database } from '../../src/db/schema.ts'
import { evidenceOf, pollRecordOf } from './stored-rails.ts'
import type { PollRecord } from './world.ts'

export interface History {
  /** Newest first. */
  readonly polls: ReadonlyMap<string, readonly PollRecord[]>
  readonly evidence: ReadonlyMap<string, readonly EvidencePointer[]>
}

const pageSize = 5000

/** Reads the history once and then only new polls, which are append-only. */
export function createHistory(reader: Kysely<Database>): () => Promise<History> {
  // The map is replaced and never changed, so that a new map means new polls.
  let polls: ReadonlyMap<string, readonly PollRecord[]> = new Map()
  let evidence: ReadonlyMap<string, readonly EvidencePointer[]> = new Map()
  let lastId = 0
  return async () => {
    // Both are assigned together after a successful read, so that a failed read is repeated.
    let read = { polls, lastId }
    const newestGood = new Map<string, StoredPoll>()
    for (;;) {
      const rows = await pollsAfter(reader, read.lastId, pageSize)
      for (const row of rows) if (row.outcome === 'ok') newestGood.set(row.rail, row)
      const longer = [...groupBy(rows, ({ rail }) => rail)].map(([rail, oldestFirst]) => {
        const added = oldestFirst.toReversed().map(pollRecordOf)
        return [rail, [...added, ...(read.polls.get(rail) ?? [])]] as const
      })
      read = {
        polls: longer.length > 0 ? new Map([...read.polls, ...longer]) : read.polls,
        lastId: rows.at(-1)?.id ?? read.lastId,
      }
      if (rows.length < pageSize) break
    }
    if (newestGood.size > 0) {
      const pointers = [...newestGood].map(([rail, row]) => [rail, evidenceOf(row)] as const)
      evidence = new Map([...evidence, ...pointers])
    }
    ;({ polls, lastId } = read)
    return { polls, evidence }
  }
}
