import { BusyError } from '../errors.ts'
import { openSqlite3 } from './connection.ts'

export class LockedError extends Error {
  override readonly name = 'LockedError'
}

/**
 * Locks with an immediate SQLite transaction, which the kernel ends with the process. An exclusive one passes through
 * a shared lock, so that of two that begin at once both can fail. @throws LockedError if locked
 */
export async function withFileLock<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 0 })
  try {
    await connection.exec('pragma busy_timeout = 0; begin immediate').catch((error: unknown) => {
      throw error instanceof BusyError
        ? new LockedError(`${path} is locked by another process`, { cause: error })
        : error
    })
    return await work()
  } finally {
    await connection.close()
  }
}
