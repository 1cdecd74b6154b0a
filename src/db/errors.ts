/** What can go wrong between the program and its database, as far as some caller must tell it apart. */

/** The database cannot take or confirm a write now. Callers answer 503; nothing was acknowledged. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError'
}

/** Another process held the write lock for longer than `busy_timeout`. Nothing was written; retry. */
export class BusyError extends DatabaseUnavailableError {
  override readonly name = 'BusyError'
}

/** No room on the disk. The transaction was rolled back; reads go on. */
export class DiskFullError extends DatabaseUnavailableError {
  override readonly name = 'DiskFullError'
}

/**
 * The disk failed or the file is damaged. Whether the last commit is durable is unknown, so this
 * handle refuses every later write: the process has to end and recover by opening the file anew.
 */
export class DatabaseBrokenError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseBrokenError'
}

/** One holder kept the only connection, or the writer, beyond the limit. A mistake in the program. */
export class ConnectionHeldError extends Error {
  override readonly name = 'ConnectionHeldError'
}

/** The driver would store something other than this value, so it never reaches the driver. */
export class ParameterError extends TypeError {
  override readonly name = 'ParameterError'
}

/** The stored integer does not fit a JavaScript number; the driver would hand it over rounded. */
export class UnsafeIntegerError extends RangeError {
  override readonly name = 'UnsafeIntegerError'
}

/** The file cannot be used as it is: wrong application, wrong schema, or a setting that did not hold. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError'
}

/**
 * Whether a write failed because the key is already there. Holds for SQLite by its message, which is
 * all the driver hands over.
 */
export function isUniqueViolation(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'SQLITE_CONSTRAINT' &&
    /(?:UNIQUE|PRIMARY KEY) constraint failed/.test(error.message)
  )
}
