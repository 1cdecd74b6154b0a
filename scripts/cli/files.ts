/** Files that a command line names. */
import { readFileSync, writeFileSync } from 'node:fs'

import type { JsonObject } from '../../src/core/canonical-json.ts'
import { isJsonObject } from '../../src/core/canonical-json.ts'
import { StrictJsonError, parseStrictJson } from '../../src/core/strict-json.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'

/** @throws UsageError that names the file. */
export function readBytes(path: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new UsageError(`${path} cannot be read (${code})`)
  }
}

/** A JSON object by the strict rules that signatures need. @throws UsageError */
export function readJsonObject(path: string): JsonObject {
  try {
    const value = parseStrictJson(readBytes(path))
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    throw new UsageError(`${path} is not JSON: ${error.message}`)
  }
  throw new UsageError(`${path} does not hold a JSON object`)
}

/** The payment of a command that may be paid for; undefined where none was given. @throws UsageError */
export function paymentOf(input: Input): string | undefined {
  const path = input.text('payment-file')
  if (path === undefined) return undefined
  const text = readBytes(path).toString('utf8').trim()
  if (/^[A-Za-z0-9+/]{1,8192}={0,2}$/.test(text)) return text
  throw new UsageError(`${path} does not hold a payment in base64`)
}

/** Writes a file that is not there yet. @throws UsageError */
export function writeNewFile(path: string, text: string, mode = 0o644): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode, flush: true })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new UsageError(
      code === 'EEXIST' ? `${path} is there already` : `${path} cannot be written (${code})`,
    )
  }
}
