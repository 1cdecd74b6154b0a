import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

import type { Random } from '../core/deps.ts'
import { UnusableFileError, createFile, readIfExists, refuseLoose } from '../files/durable.ts'
import { signingKeyFromPem, signingKeyFromSeed, signingKeyToPem } from './signing-key.ts'
import type { SigningKey } from './signing-key.ts'

const OWNER_ONLY = 0o600

/** Creates a file with mode 0600 in a folder with mode 0700. Keeps a file that another process created first. */
export async function createSecretFile(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await createFile(path, content, OWNER_ONLY)
}

/** Creates missing keys; null if keys must not be created, since replicas share them. */
export type KeyMaker = Pick<Random, 'bytes'> | null

export function missingKeyError(path: string): Error {
  return new UnusableFileError(
    `${path} is missing: restore or mount the folder of the keys of this ledger. ` +
      'Only for a new ledger, `agent-income-ledger admin keys create` creates them.',
  )
}

/** Reads or creates a PKCS#8 PEM with mode 0600. @throws UnusableFileError */
export async function loadKeyFile(path: string, random: KeyMaker): Promise<SigningKey> {
  if (random !== null) {
    await createSecretFile(path, signingKeyToPem(signingKeyFromSeed(random.bytes(32))))
  }
  const key = await readKey(path)
  if (key === null) throw missingKeyError(path)
  return key
}

async function readKey(path: string): Promise<SigningKey | null> {
  const pem = await readIfExists(path)
  if (pem === null) return null
  await refuseLoose(path, OWNER_ONLY)
  try {
    return signingKeyFromPem(pem.toString())
  } catch {
    throw new UnusableFileError(`${path} is not an ed25519 key in PKCS#8 PEM. Restore it.`)
  }
}
