/** Isolates each write of a shared transaction by a savepoint and its own `tx`. */
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'

import { refuseStreaming } from './dialect.ts'
import type { WriteConnection } from './dialect.ts'
import { ConnectionHeldError } from './errors.ts'

export interface Savepoint {
  /** Starts a write. Its savepoint is set before its first query, since PostgreSQL needs it to undo a failed query. */
  readonly next: () => void
  readonly ensure: () => Promise<void>
  readonly undo: () => Promise<void>
}

/** Sent with the `begin` of the transaction, to save a round trip. */
export const firstSavepoint = 'savepoint job'

/** Successive, never nested savepoints of a transaction that began with `firstSavepoint`. */
export function createSavepoint(connection: WriteConnection): Savepoint {
  let writes = 0
  let isSet = true
  let isUsed = false
  return {
    next: () => {
      writes += 1
      isSet = writes === 1
      isUsed = false
    },
    ensure: async () => {
      // Releasing the previous savepoint here saves a round trip per write.
      if (!isSet) await connection.exec('release job; savepoint job')
      isSet = true
      isUsed = true
    },
    undo: async () => {
      if (isUsed) await connection.exec('rollback to job')
    },
  }
}

/** The connection of one write; unusable after its work has ended. */
export class JobConnection implements DatabaseConnection {
  readonly streamQuery = refuseStreaming
  readonly #connection: WriteConnection
  readonly #savepoint: Savepoint
  readonly #running = new Set<Promise<unknown>>()
  #ended = false

  constructor(connection: WriteConnection, savepoint: Savepoint) {
    this.#connection = connection
    this.#savepoint = savepoint
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#ended) {
      throw new Error('`tx` was used after the work of its write had ended: await every query.')
    }
    const running = this.#execute<Row>(query)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Waits for running queries. Returns true if there was one. */
  async end(): Promise<boolean> {
    this.#ended = true
    const running = [...this.#running]
    await Promise.allSettled(running)
    return running.length > 0
  }

  async #execute<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    await this.#savepoint.ensure()
    return this.#connection.executeQuery<Row>(query)
  }
}

/** @throws ConnectionHeldError if `work` takes longer, for instance by waiting for its own write */
export function withinWorkLimit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        new ConnectionHeldError(
          `The work of a write took longer than ${limitMs} ms and was undone. ` +
            'Did it wait for `db` or for another `write` instead of using `tx`, or for something slow?',
        ),
      )
    }, limitMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
