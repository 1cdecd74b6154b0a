/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
import pg from 'pg'

import {
  BusyError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  DiskFullError,
  UnsafeIntegerError,
} from '../errors.ts'

const undone: ReadonlySet<unknown> = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
])

export const poolerRefused =
  'DATABASE_URL leads to a connection pooler such as PgBouncer. Connect to PostgreSQL directly.'

const lockNotAvailable = '55P03'
const advice: Readonly<Record<string, string>> = {
  42501: ': the role of DATABASE_URL must own the tables, and needs CREATE on their schema',
}

/** True if the transaction can be repeated at once. */
export function isUndone(error: unknown): boolean {
  const cause = error instanceof BusyError ? error.cause : null
  return cause instanceof pg.DatabaseError && undone.has(cause.code)
}

/** True if the connection cannot be used any more. Only errors of the server have its class. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof UnsafeIntegerError) return false
  // Connection failures, the intervention of the operator, a standby, and a transaction that was idle for too long.
  return !(error instanceof pg.DatabaseError) || /^(?:08|57P|25006|25P03)/.test(error.code ?? '')
}

export function meaningOf(error: unknown): unknown {
  if (error instanceof UnsafeIntegerError) return error
  const cause = { cause: error }
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof pg.DatabaseError) {
    const { code = '' } = error
    if (undone.has(code) || code === lockNotAvailable)
      return new BusyError('Another write holds the lock of the ledger.', cause)
    if (code === '53100') return new DiskFullError('There is no disk space for the write.', cause)
    // A pooler refuses settings, or shares prepared statements between clients.
    if (/^(?:08P01|42P05)$/.test(code)) return new DatabaseRefusedError(poolerRefused, cause)
    if (/^(?:28|3D|42501)/.test(code))
      return new DatabaseRefusedError(message + (advice[code] ?? ''))
    // Faults of the statement; the classes below are those of the server (53 resources, 58 system, XX damage).
    if (!/^(?:08|40|53|57|58|XX|25006|25P03)/.test(code)) return error
  }
  return new DatabaseUnavailableError(`PostgreSQL does not answer: ${message}`, cause)
}
