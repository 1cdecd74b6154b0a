import { createHmac } from 'node:crypto'
import { join } from 'node:path'

import { UnusableFileError, readIfExists } from '../files/durable.ts'
import { createSecretFile, missingKeyError } from './key-file.ts'
import type { KeyMaker } from './key-file.ts'

/** The same text has a different hash for each `purpose`. */
export type KeyedHash = (purpose: string, text: string) => string

const SECRET_BYTES = 32

/** Reads or creates the secret, which is stored outside the database. */
export async function loadKeyedHash(dir: string, random: KeyMaker): Promise<KeyedHash> {
  const path = join(dir, 'hash.key')
  if (random !== null) await createSecretFile(path, random.bytes(SECRET_BYTES))
  const secret = await readSecret(path)
  if (secret === null) throw missingKeyError(path)
  return keyedHashOf(secret)
}

export function keyedHashOf(secret: Uint8Array): KeyedHash {
  return (purpose, text) => createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('hex')
}

async function readSecret(path: string): Promise<Buffer | null> {
  const secret = await readIfExists(path)
  if (secret === null || secret.length === SECRET_BYTES) return secret
  throw new UnusableFileError(`${path} does not contain ${SECRET_BYTES} bytes: restore it`)
}
