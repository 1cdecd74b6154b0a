import { types } from 'pg'
import type { CustomTypesConfig } from 'pg'

import { UnsafeIntegerError } from '../errors.ts'

const { BOOL, INT8, NUMERIC } = types.builtins

function wholeNumber(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new UnsafeIntegerError(`${text} is beyond 2^53-1: read the column as text.`)
  }
  return value
}

const parsers = new Map<number, (text: string) => unknown>([
  [INT8, wholeNumber],
  // Sums of integers.
  [NUMERIC, wholeNumber],
  // SQLite returns conditions as numbers.
  [BOOL, (text) => (text === 't' ? 1 : 0)],
])

/** Results have the same types as those of SQLite. */
export const resultTypes: CustomTypesConfig = {
  // oxlint-disable-next-line typescript/no-unsafe-return -- values of all types
  getTypeParser: (oid, format) => parsers.get(oid) ?? types.getTypeParser(oid, format),
}
