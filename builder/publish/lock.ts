import { BusyError } from '../../src/db/errors.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'

/** Another process, or another call in this one, holds the lock. */
export class LockedError extends Error {
  override readonly name = 'LockedError'
}

/**
 * Does the work while holding the lock of a file, which is created and stays. The lock is an exclusive transaction of
 * SQLite on the empty file: the kernel drops it when the process ends, however it ends.
 * @throws LockedError at once when the lock is held
 */
export async function withFileLock<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 0 })
  try {
    await connection.exec('pragma busy_timeout = 0; begin exclusive').catch((error: unknown) => {
      throw error instanceof BusyError
        ? new LockedError(`${path} is held by another process`, { cause: error })
        : error
    })
    return await work()
  } finally {
    await connection.close()
  }
}
