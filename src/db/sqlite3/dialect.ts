import type { Dialect, Driver, Kysely } from 'kysely'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'

import type { Sqlite3Connection } from './connection.ts'

/** SQLite supports transactional DDL, although Kysely's adapter reports the opposite. */
class Sqlite3Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

export function createDialect(connection: Sqlite3Connection): Dialect {
  return {
    createAdapter: () => new Sqlite3Adapter(),
    createDriver: () => createDriver(connection),
    // oxlint-disable-next-line typescript/no-explicit-any -- Kysely's own signature.
    createIntrospector: (db: Kysely<any>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function createDriver(connection: Sqlite3Connection): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => {
      await connection.mutex.acquire()
      return connection
    },
    releaseConnection: async () => connection.mutex.release(),
    beginTransaction: () => connection.begin(''),
    commitTransaction: () => connection.commit(),
    rollbackTransaction: () => connection.rollback(),
    destroy: async () => {
      await connection.mutex.acquire()
      await connection.close()
    },
  }
}
