/** What holds one write apart from the others of its transaction: its savepoint and its own `tx`. */
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'

import { ConnectionHeldError } from './errors.ts'
import type { Sqlite3Connection } from './sqlite3/connection.ts'

export interface Savepoint {
  /** A new write begins. That of the first one stands; of those after it nothing is set until it first changes something. */
  readonly next: () => void
  /** Called before each statement that may change something. */
  readonly ensure: () => Promise<void>
  /** Undoes what the present write changed. */
  readonly undo: () => Promise<void>
}

/** Sets the savepoint of the first write in the round trip that begins the transaction. */
export const firstSavepoint = 'savepoint job'

/** The savepoints of a transaction that began with `firstSavepoint`: one after the other, never nested. */
export function createSavepoint(connection: Sqlite3Connection): Savepoint {
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
      // The one before is released here and not at its end, which saves a round trip for each write.
      if (!isSet) await connection.exec('release job; savepoint job')
      isSet = true
      isUsed = true
    },
    undo: async () => {
      if (isUsed) await connection.exec('rollback to job')
    },
  }
}

/** The connection as one write sees it: shut as soon as its work is over. */
export class JobConnection implements DatabaseConnection {
  readonly #connection: Sqlite3Connection
  readonly #savepoint: Savepoint
  #running: Promise<unknown> | null = null
  #ended = false

  constructor(connection: Sqlite3Connection, savepoint: Savepoint) {
    this.#connection = connection
    this.#savepoint = savepoint
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#ended) {
      throw new Error('`tx` was used after the work it was given to had ended: await every query.')
    }
    const running = this.#execute<Row>(query)
    this.#running = running
    try {
      return await running
    } finally {
      this.#running = null
    }
  }

  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    return this.#connection.streamQuery()
  }

  /** Shuts the connection and waits for a query that still runs; answers whether there was one. */
  async end(): Promise<boolean> {
    this.#ended = true
    if (this.#running === null) return false
    await Promise.allSettled([this.#running])
    return true
  }

  async #execute<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (query.query.kind !== 'SelectQueryNode') await this.#savepoint.ensure()
    return this.#connection.executeQuery<Row>(query)
  }
}

/**
 * The value of `work`.
 * @throws ConnectionHeldError when it takes longer, for instance because it waits for a write of its own.
 */
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
