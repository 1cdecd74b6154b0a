import { stat } from 'node:fs/promises'

import type { Random } from '../core/deps.ts'
import { createSecretFile, readIfPresent } from './secret-file.ts'
import { signingKeyFromPem, signingKeyFromSeed, signingKeyToPem } from './signing-key.ts'
import type { SigningKey } from './signing-key.ts'

const OTHERS = 0o077

/** Reads or creates a PKCS#8 PEM with mode 0600. @throws Error if others may read the file, SigningKeyError */
export async function loadKeyFile(
  path: string,
  random: Pick<Random, 'bytes'>,
): Promise<SigningKey> {
  const stored = await readKey(path)
  if (stored !== null) return stored
  const key = signingKeyFromSeed(random.bytes(32))
  await createSecretFile(path, signingKeyToPem(key), random)
  return (await readKey(path)) ?? key
}

async function readKey(path: string): Promise<SigningKey | null> {
  const pem = await readIfPresent(path)
  if (pem === null) return null
  const mode = (await stat(path)).mode & 0o777
  if ((mode & OTHERS) !== 0) {
    throw new Error(`${path} can be read by other users: run chmod 600 ${path}`)
  }
  return signingKeyFromPem(pem.toString())
}
