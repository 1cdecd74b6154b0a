/** The database cannot write or confirm a write now. Callers answer 503; nothing was acknowledged. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError'
}

/** Another process held the write lock beyond `busy_timeout`. Nothing was written; retry. */
export class BusyError extends DatabaseUnavailableError {
  override readonly name = 'BusyError'
}

/** The disk is full. The transaction was rolled back; reads still work. */
export class DiskFullError extends DatabaseUnavailableError {
  override readonly name = 'DiskFullError'
}

/** A list took too long, or its client has disconnected. */
export class ListEndedError extends DatabaseUnavailableError {
  override readonly name = 'ListEndedError'
  override readonly message =
    'The query, with its wait for others of your network, took too long: request fewer entries, add a filter, or send fewer requests at a time'
}

/** Disk failure or damaged file. The last commit may not be durable, so all later writes fail: restart the process. */
export class DatabaseBrokenError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseBrokenError'
}

/** One holder kept a connection beyond the limit: a programming error, or a process that was paused. */
export class ConnectionHeldError extends DatabaseUnavailableError {
  override readonly name = 'ConnectionHeldError'
}

/** The driver would not store this value unchanged. */
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

/** Parses the message of SQLite, since its driver provides no more. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return (
    error.code === '23505' ||
    (error.code === 'SQLITE_CONSTRAINT' &&
      /(?:UNIQUE|PRIMARY KEY) constraint failed/.test(error.message))
  )
}
