import type { Dialect, Driver, Kysely, QueryCompiler } from 'kysely'

import {
  IdentifierNode,
  RawNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  createQueryId,
} from '../kysely.ts'
import type { Sqlite3Connection } from './connection.ts'

/** SQLite has transactional DDL, which Kysely's adapter denies. */
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
  const savepointCommand = async (
    command: string,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> => {
    const node = RawNode.create([`${command} `, ''], [IdentifierNode.create(name)])
    await connection.exec(compile(node, createQueryId()).sql)
  }
  return {
    init: async () => {},
    acquireConnection: async () => {
      await connection.mutex.acquire()
      return connection
    },
    releaseConnection: async () => connection.mutex.release(),
    beginTransaction: () => connection.begin(),
    commitTransaction: () => connection.commit(),
    rollbackTransaction: () => connection.rollback(),
    savepoint: (_, name, compile) => savepointCommand('savepoint', name, compile),
    rollbackToSavepoint: (_, name, compile) => savepointCommand('rollback to', name, compile),
    releaseSavepoint: (_, name, compile) => savepointCommand('release', name, compile),
    destroy: async () => {
      await connection.mutex.acquire()
      await connection.close()
    },
  }
}
