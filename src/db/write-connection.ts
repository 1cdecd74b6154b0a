import type { DatabaseConnection } from 'kysely'

import type { ConnectionMutex } from './connection-mutex.ts'

/** The connection of a writer, which acquires the mutex first. */
export interface WriteConnection extends DatabaseConnection {
  readonly mutex: ConnectionMutex
  /** The error with which the database ended the transaction; statements before its rollback are refused. */
  readonly lost: Error | null
  /** Begins a transaction that no other write of the ledger overlaps. `first` is sent along. */
  readonly begin: (first: string) => Promise<void>
  readonly commit: () => Promise<void>
  /** Can be called after the database has ended the transaction itself. */
  readonly rollback: () => Promise<void>
  readonly exec: (sql: string) => Promise<void>
}
