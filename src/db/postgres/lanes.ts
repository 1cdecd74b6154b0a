/** Runs each write with locks in a separate transaction, on one of several connections. */
import type { Dialect } from 'kysely'
import type { Kysely, Transaction } from 'kysely'

import { createSemaphore } from '../../core/concurrency.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import { JobConnection } from '../savepoint.ts'
import { createTransactions, runWork } from '../writer.ts'
import type { WriterOptions } from '../writer.ts'
import type { PostgresConnection } from './connection.ts'
import { isUndone } from './failures.ts'

/** Enough for round trips of 1 ms; each replica uses this many connections of the server. */
const laneCount = 8
/** Two transactions may still wait for each other's rows, and PostgreSQL then undoes one of them. */
const tries = 3

/** The whole transaction is undone. */
const noSavepoint = { next: () => undefined, ensure: async () => {}, undo: async () => {} }

interface Lane<DB> {
  readonly connection: PostgresConnection
  readonly kysely: Kysely<DB>
  readonly dialect: Dialect
}

export function createLanes<DB>(connect: () => Lane<DB>, { workLimitMs, observer }: WriterOptions) {
  const permits = createSemaphore(laneCount)
  const idle: Lane<DB>[] = []

  async function writeOnce<T>(
    { connection, kysely, dialect }: Lane<DB>,
    work: (tx: Transaction<DB>) => Promise<T>,
    locks: readonly string[],
  ): Promise<T> {
    await connection.beginWith(locks)
    try {
      const guarded = new JobConnection(connection, noSavepoint)
      const tx = createTransactions(kysely, dialect)(guarded)
      const value = await runWork(guarded, () => work(tx), workLimitMs)
      const beganMs = performance.now()
      await connection.commit()
      observer?.committed(1, performance.now() - beganMs)
      return value
    } catch (error) {
      await connection.rollback()
      throw error
    }
  }

  return {
    write: async <T>(
      work: (tx: Transaction<DB>) => Promise<T>,
      locks: readonly string[],
    ): Promise<T> =>
      await permits.run(async () => {
        const lane = idle.pop() ?? connect()
        try {
          for (let attempt = 1; ; attempt += 1) {
            try {
              return await writeOnce(lane, work, locks)
            } catch (error) {
              if (error instanceof DatabaseUnavailableError) observer?.failed(error)
              if (!isUndone(error) || attempt === tries) throw error
            }
          }
        } finally {
          idle.push(lane)
        }
      }),
    /** Waits for the running writes. */
    settled: async () => {
      await Promise.all(Array.from({ length: laneCount }, () => permits.acquire()))
      for (let at = 0; at < laneCount; at += 1) permits.release()
    },
  }
}
