import type { Dialect, Driver, Kysely } from 'kysely'
import { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'

import type { PostgresConnection } from './connection.ts'

/** @param isShared true if statements of several callers may follow each other, without transactions */
export function createDialect(connection: PostgresConnection, isShared: boolean): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => createDriver(connection, isShared),
    // oxlint-disable-next-line typescript/no-explicit-any -- Kysely's own signature.
    createIntrospector: (db: Kysely<any>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

function createDriver(connection: PostgresConnection, isShared: boolean): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => {
      if (!isShared) await connection.mutex.acquire()
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
    destroy: () => connection.close(),
  }
}
