/** Rejects values that the driver would change, in parameters and in results. */
import { ParameterError, UnsafeIntegerError } from './errors.ts'

export type SqlParameter = null | string | number | Buffer

const loneSurrogate = /\p{Surrogate}/u

export function toParameter(value: unknown): SqlParameter {
  switch (typeof value) {
    case 'string':
      if (loneSurrogate.test(value))
        throw refused('string with a lone surrogate', 'Check the text first.')
      return value
    case 'boolean':
      return value ? 1 : 0
    case 'number':
      if (!Number.isFinite(value)) throw refused(String(value), 'Store null for unknown.')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw refused(`integer ${value}`, 'Store integers beyond 2^53-1 as decimal text.')
      }
      return value
    case 'bigint':
      throw refused('bigint', 'Store a number up to 2^53-1, or decimal text.')
    case 'undefined':
      throw refused('undefined', 'Store null, or omit the column.')
    case 'object':
      if (value === null) return null
      if (Buffer.isBuffer(value)) return value
      if (value instanceof Uint8Array) {
        return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      }
      if (value instanceof Date) throw refused('Date', 'Store RFC 3339 text.')
      throw refused(Array.isArray(value) ? 'array' : 'object', 'Store JSON text.')
    case 'function':
    case 'symbol':
      break
  }
  throw refused(typeof value, 'Store text, a number, bytes or null.')
}

function refused(what: string, instead: string): ParameterError {
  return new ParameterError(`The database does not accept this value: ${what}. ${instead}`)
}

export function unsafeColumn(
  rows: readonly Readonly<Record<string, unknown>>[],
): UnsafeIntegerError | null {
  const columns = Object.keys(rows[0] ?? {})
  for (const row of rows) {
    for (const column of columns) {
      const value = row[column]
      if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
        return new UnsafeIntegerError(
          `Column ${column} contains an integer beyond 2^53-1: read the column as text.`,
        )
      }
    }
  }
  return null
}
