/** Keys come from files or the environment, since all users of a machine can read arguments. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'

import { KeyFormatError, parseSecretKey } from '../../src/client/signers.ts'
import type { SecretKey } from '../../src/client/signers.ts'
import { reading } from './files.ts'
import { UsageError, orUsageError } from './input.ts'

const OTHERS = 0o077
const MAX_BYTES = 16_384

/**
 * Reads the key from the option, else from `<NAME>_FILE`, else from `<NAME>`. @throws UsageError without the content of
 * the file
 */
export function findKey(
  file: string | undefined,
  name: 'LEDGER_KEY' | 'LEDGER_RECEIPT_KEY',
  environment: Readonly<Record<string, string | undefined>>,
): SecretKey | null {
  const path = file ?? environment[`${name}_FILE`]
  const isFile = path !== undefined && path !== ''
  const text = isFile ? readPrivateFile(path) : environment[name]
  if (text === undefined || (text === '' && !isFile)) return null
  return orUsageError(KeyFormatError, () => parseSecretKey(text), `${isFile ? path : name}: `)
}

function readPrivateFile(path: string): string {
  const descriptor = reading(path, () => openSync(path, 'r'))
  try {
    return reading(path, () => {
      // The check reads the open file, which nobody can replace.
      const { mode, size } = fstatSync(descriptor)
      if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
        const found = (mode & 0o777).toString(8)
        throw new UsageError(`${path} can be read by others (mode ${found}): chmod 600 ${path}`)
      }
      if (size > MAX_BYTES) throw new UsageError(`${path} is too long for a key`)
      return readFileSync(descriptor, 'utf8')
    })
  } finally {
    closeSync(descriptor)
  }
}
