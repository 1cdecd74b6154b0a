/** Keys come from files or the environment, since all users can read arguments. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'

import { KeyFormatError, parseSecretKey } from '../../src/client/signers.ts'
import type { SecretKey } from '../../src/client/signers.ts'
import { UsageError } from './input.ts'

const OTHERS = 0o077
const MAX_BYTES = 16_384

/** @throws UsageError, never with the content of the file */
export function readKeyFile(path: string): SecretKey {
  return parsed(readPrivateFile(path), path)
}

/** The key from the option, else from `<NAME>_FILE`, else from `<NAME>`. */
export function findKey(
  file: string | undefined,
  name: 'LEDGER_KEY' | 'LEDGER_RECEIPT_KEY',
  environment: Readonly<Record<string, string | undefined>>,
): SecretKey | null {
  const path = file ?? environment[`${name}_FILE`]
  if (path !== undefined && path !== '') return readKeyFile(path)
  const text = environment[name]
  return text === undefined || text === '' ? null : parsed(text, name)
}

function readPrivateFile(path: string): string {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (error) {
    throw new UsageError(`${path} cannot be read${codeOf(error)}`)
  }
  try {
    // The open file, so that it cannot be replaced after the check.
    const { mode, size } = fstatSync(descriptor)
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
      const found = (mode & 0o777).toString(8)
      throw new UsageError(`${path} can be read by others (mode ${found}): chmod 600 ${path}`)
    }
    if (size > MAX_BYTES) throw new UsageError(`${path} is too long for a key`)
    return readFileSync(descriptor, 'utf8')
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${path} cannot be read${codeOf(error)}`)
  } finally {
    closeSync(descriptor)
  }
}

function parsed(text: string, where: string): SecretKey {
  try {
    return parseSecretKey(text)
  } catch (error) {
    if (error instanceof KeyFormatError) throw new UsageError(`${where}: ${error.message}`)
    throw error
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
}
