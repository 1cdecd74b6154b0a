/** One connection of either engine, and Kysely on it. */
import type { DatabaseConnection, Dialect, Kysely } from 'kysely'
import {
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

import type { ConnectionMutex } from './connection-mutex.ts'
import type { Engine } from './statements.ts'

/** The connection of a writer, which acquires the mutex first. */
export interface WriteConnection extends DatabaseConnection {
  readonly engine: Engine
  readonly mutex: ConnectionMutex
  /** The error with which the database ended the transaction; statements before its rollback are refused. */
  readonly lost: Error | null
  /** Begins a transaction that no other write of the ledger overlaps. `first` is sent along. */
  readonly begin: (first: string) => Promise<void>
  readonly commit: () => Promise<void>
  /** Can be called after the database has ended the transaction itself. */
  readonly rollback: () => Promise<void>
  readonly exec: (sql: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** SQLite supports transactional DDL, although Kysely's adapter reports the opposite. */
class Sqlite3Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

const parts = {
  sqlite: {
    Adapter: Sqlite3Adapter,
    Introspector: SqliteIntrospector,
    Compiler: SqliteQueryCompiler,
  },
  postgres: {
    Adapter: PostgresAdapter,
    Introspector: PostgresIntrospector,
    Compiler: PostgresQueryCompiler,
  },
} as const

/** @param isShared true if statements of several callers may follow each other, without transactions */
export function createDialect(connection: WriteConnection, isShared = false): Dialect {
  const { Adapter, Introspector, Compiler } = parts[connection.engine]
  const acquire = async (): Promise<void> => {
    if (!isShared) await connection.mutex.acquire()
  }
  return {
    createAdapter: () => new Adapter(),
    // oxlint-disable-next-line typescript/no-explicit-any -- Kysely's own signature.
    createIntrospector: (db: Kysely<any>) => new Introspector(db),
    createQueryCompiler: () => new Compiler(),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => {
        await acquire()
        return connection
      },
      releaseConnection: async () => {
        if (!isShared) connection.mutex.release()
      },
      beginTransaction: async () => {
        if (isShared) throw new Error('This connection is for single statements.')
        await connection.begin('')
      },
      commitTransaction: () => connection.commit(),
      rollbackTransaction: () => connection.rollback(),
      destroy: async () => {
        await acquire()
        await connection.close()
      },
    }),
  }
}

export function refuseStreaming(): never {
  throw new Error('Streaming is not supported on this database: page through the rows by key.')
}
