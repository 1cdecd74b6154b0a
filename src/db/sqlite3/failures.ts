import {
  BusyError,
  DatabaseBrokenError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  DiskFullError,
} from '../errors.ts'

export const transactionLost: ReadonlySet<unknown> = new Set([
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_NOMEM',
  'SQLITE_BUSY',
  'SQLITE_INTERRUPT',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_PROTOCOL',
])

export function meaningOf(error: Error, code: unknown, path: string): Error {
  const cause = { cause: error }
  switch (code) {
    case 'SQLITE_BUSY':
      return new BusyError('Another process holds the write lock of the database.', cause)
    case 'SQLITE_FULL':
      return new DiskFullError('There is no disk space for the write.', cause)
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_READONLY':
      return new DatabaseRefusedError(
        `Cannot open ${path}: ${error.message}. The user of this process needs permission to write it and its folder.`,
        cause,
      )
    case 'SQLITE_NOMEM':
    case 'SQLITE_INTERRUPT':
    case 'SQLITE_PROTOCOL':
      return new DatabaseUnavailableError(`The transaction was lost: ${error.message}`, cause)
    case 'SQLITE_IOERR':
    case 'SQLITE_CORRUPT':
    case 'SQLITE_NOTADB':
      return new DatabaseBrokenError(`The database is broken: ${error.message}`, cause)
    default:
      return error
  }
}
