import { readFileSync, readSync, statSync, writeFileSync } from 'node:fs'

import { sha256Hex } from '../../src/auth/messages.ts'
import { isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../../src/core/canonical-json.ts'
import { StrictJsonError, parseStrictJson } from '../../src/core/strict-json.ts'
import { UsageError, orUsageError } from './input.ts'
import type { Input } from './input.ts'

const inputPauseMs = 20

/** Runs `work`, which reads the file. @throws UsageError */
export function reading<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${path} cannot be read (${errorCode(error)})`)
  }
}

/** @throws UsageError */
export function readBytes(path: string): Buffer {
  return reading(path, () => (path === '-' ? readStandardInput() : readFileSync(path)))
}

/** A pipe without data yet fails with EAGAIN if its other end made it non-blocking. */
function readStandardInput(): Buffer {
  const parts: Buffer[] = []
  for (;;) {
    const part = Buffer.alloc(64 * 1024)
    try {
      const length = readSync(0, part)
      if (length === 0) return Buffer.concat(parts)
      parts.push(part.subarray(0, length))
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, inputPauseMs)
    }
  }
}

export function fileExists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Reads strict JSON, as for signed texts. @throws UsageError */
export function readJson(path: string): JsonValue {
  const bytes = readBytes(path)
  return orUsageError(StrictJsonError, () => parseStrictJson(bytes), `${path} is not JSON: `)
}

/** @throws UsageError */
export function readJsonObject(path: string): JsonObject {
  const value = readJson(path)
  if (isJsonObject(value)) return value
  throw new UsageError(`${path} does not contain a JSON object`)
}

/** @throws UsageError */
export function readPayment(input: Input): string | undefined {
  const path = input.text('payment-file')
  if (path === undefined) return undefined
  const text = readBytes(path).toString('utf8').trim()
  if (/^[A-Za-z0-9+/]{1,8192}={0,2}$/.test(text)) return text
  throw new UsageError(`${path} does not contain a payment in base64`)
}

/** @throws UsageError if the file exists */
export function writeNewFile(path: string, text: string, mode = 0o644): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode, flush: true })
  } catch (error) {
    const code = errorCode(error)
    throw new UsageError(
      code === 'EEXIST' ? `${path} already exists` : `${path} cannot be written (${code})`,
    )
  }
}

/** @throws UsageError unless exactly one of both options is used */
export function sha256OfDelivery(input: Input): string {
  const [file, sha256] = [input.text('file'), input.text('sha256')]
  if (file !== undefined && sha256 === undefined) return sha256Hex(readBytes(file))
  if (file === undefined && sha256 !== undefined) return sha256
  throw new UsageError('give either --file or --sha256')
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
