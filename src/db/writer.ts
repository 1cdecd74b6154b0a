/** Group commit: queued writes share a transaction and a flush, each with a savepoint. They resolve after the commit. */
import type { Dialect, Kysely } from 'kysely'
import { SingleConnectionProvider, Transaction } from 'kysely'

import type { WriteConnection } from './dialect.ts'
import { createSavepoint, firstSavepoint, JobConnection, withinWorkLimit } from './savepoint.ts'
import type { Savepoint } from './savepoint.ts'

/**
 * Runs `work` in the next transaction and resolves to its value once that is committed.
 *
 * `work` uses only `tx`, and awaits every query. It may run long before the commit, so it has no effects but its rows.
 * Its own errors reject only this write. DatabaseUnavailableError means that nothing may be acknowledged.
 *
 * No other write overlaps. With `locks`, PostgreSQL lets writes without a common lock overlap, so `work` must then depend
 * only on rows that its locks protect, and may run again.
 */
export type Write<DB> = <T>(
  work: (tx: Transaction<DB>) => Promise<T>,
  locks?: readonly string[],
) => Promise<T>

export interface Writer<DB> {
  readonly write: Write<DB>
  /** True if the last transaction failed. */
  readonly isFailing: () => boolean
  readonly close: () => Promise<void>
}

interface Job<DB> {
  readonly run: (tx: Transaction<DB>) => Promise<Settle>
  readonly reject: (error: unknown) => void
}

export interface WriteObserver {
  readonly waiting: (writes: number) => void
  readonly committed: (writes: number, ms: number) => void
  readonly failed: (error: unknown) => void
}

type Settle = () => void

/** The limit is large enough that many writes share a flush, and small enough that the first does not wait long. */
const batchLimit = 256

export interface WriterOptions {
  /** Limit for one `work`, which is then rolled back and refused. */
  readonly workLimitMs: number
  readonly observer: WriteObserver | null
}

export function createWriter<DB>(
  db: Kysely<DB>,
  connection: WriteConnection,
  dialect: Dialect,
  { workLimitMs, observer }: WriterOptions,
): Writer<DB> {
  const begin = createTransactions(db, dialect)
  let queue: Job<DB>[] = []
  let closed = false
  let draining: Promise<void> | null = null
  let isFailing = false

  function write<T>(work: (tx: Transaction<DB>) => Promise<T>): Promise<T> {
    if (closed)
      return Promise.reject(new Error('The database is closing and accepts no more writes.'))
    return new Promise((resolve, reject) => {
      const run = async (tx: Transaction<DB>): Promise<Settle> => {
        const value = await work(tx)
        return () => resolve(value)
      }
      queue.push({ run, reject })
      observer?.waiting(queue.length)
      draining ??= drain()
    })
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      try {
        await connection.mutex.acquire()
      } catch (error) {
        for (const job of queue.splice(0)) job.reject(error)
        observer?.failed(error)
        observer?.waiting(0)
        continue
      }
      const batch = queue.splice(0, batchLimit)
      observer?.waiting(queue.length)
      try {
        const unreached = await runBatch(batch)
        if (unreached.length > 0) queue = [...unreached, ...queue]
      } finally {
        connection.mutex.release()
      }
    }
    draining = null
  }

  /** Returns the writes not reached because the transaction was lost. */
  async function runBatch(batch: readonly Job<DB>[]): Promise<readonly Job<DB>[]> {
    const settles: Settle[] = []
    let reached = 0
    try {
      await connection.begin(firstSavepoint)
      try {
        const savepoint = createSavepoint(connection)
        for (const job of batch) {
          reached += 1
          settles.push(await runJob(job, savepoint))
          if (connection.lost !== null) throw connection.lost
        }
        const beganMs = performance.now()
        await connection.commit()
        isFailing = false
        observer?.committed(batch.length, performance.now() - beganMs)
      } catch (error) {
        await connection.rollback()
        throw error
      }
    } catch (error) {
      const failed = reached === 0 ? batch : batch.slice(0, reached)
      isFailing = true
      for (const job of failed) job.reject(error)
      observer?.failed(error)
      return batch.slice(failed.length)
    }
    for (const settle of settles) settle()
    return []
  }

  async function runJob(job: Job<DB>, savepoint: Savepoint): Promise<Settle> {
    savepoint.next()
    const guarded = new JobConnection(connection, savepoint)
    try {
      return await runWork(guarded, () => job.run(begin(guarded)), workLimitMs)
    } catch (error) {
      await savepoint.undo()
      return () => job.reject(error)
    }
  }

  return {
    write,
    isFailing: () => isFailing,
    close: async () => {
      closed = true
      await draining
    },
  }
}

export function createTransactions<DB>(db: Kysely<DB>, dialect: Dialect) {
  const shared = { config: { dialect }, dialect, driver: dialect.createDriver() }
  const base = db.getExecutor()
  return (connection: JobConnection): Transaction<DB> => {
    const executor = base.withConnectionProvider(new SingleConnectionProvider(connection))
    return new Transaction<DB>({ ...shared, executor })
  }
}

/** Runs `work`, whose queries have all ended when this resolves or rejects. */
export async function runWork<T>(
  connection: JobConnection,
  work: () => Promise<T>,
  limitMs: number,
): Promise<T> {
  try {
    const value = await withinWorkLimit(work(), limitMs)
    if (await connection.end())
      throw new Error('The work of a write ended before its queries had ended.')
    return value
  } catch (error) {
    await connection.end()
    throw error
  }
}
