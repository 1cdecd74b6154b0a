/** Database errors that callers tell apart. */

/** The database cannot take or confirm a write now. Callers answer 503; nothing was acknowledged. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError'
}

/** Another process held the write lock for longer than `busy_timeout`. Nothing was written; retry. */
export class BusyError extends DatabaseUnavailableError {
  override readonly name = 'BusyError'
}

/** The disk is full. The transaction was rolled back; reads still work. */
export class DiskFullError extends DatabaseUnavailableError {
  override readonly name = 'DiskFullError'
}

/**
 * The disk failed or the file is damaged. It is unknown whether the last commit is durable, so the handle refuses
 * later writes: the process has to end, and recovers by opening the file again.
 */
export class DatabaseBrokenError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseBrokenError'
}

/** One holder kept the only connection, or the writer, beyond the limit: a programming error. */
export class ConnectionHeldError extends Error {
  override readonly name = 'ConnectionHeldError'
}

/** The driver would store another value than this one. */
export class ParameterError extends TypeError {
  override readonly name = 'ParameterError'
}

/** The stored integer does not fit a JavaScript number. */
export class UnsafeIntegerError extends RangeError {
  override readonly name = 'UnsafeIntegerError'
}

/** The file cannot be used: wrong application, wrong schema, or a setting without effect. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError'
}

/** Whether a write failed on a unique key. Reads the message, which is all that the driver provides. */
export function isUniqueViolation(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'SQLITE_CONSTRAINT' &&
    /(?:UNIQUE|PRIMARY KEY) constraint failed/.test(error.message)
  )
}
