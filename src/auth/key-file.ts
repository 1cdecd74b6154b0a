import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

import { isErrno } from '../core/errno.ts'
import { bytesToHex } from '../core/hex.ts'
import { signingKeyFromPem, signingKeyFromSeed, signingKeyToPem } from './signing-key.ts'
import type { SigningKey } from './signing-key.ts'

const OTHERS = 0o077

/** Reads or creates a PKCS#8 PEM with mode 0600. @throws Error where others may read it, SigningKeyError */
export async function loadKeyFile(
  path: string,
  random: { readonly bytes: (length: number) => Uint8Array },
): Promise<SigningKey> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return (await readKey(path)) ?? (await makeKey(path, random))
}

async function readKey(path: string): Promise<SigningKey | null> {
  let pem: string
  try {
    pem = await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
  const mode = (await stat(path)).mode & 0o777
  if ((mode & OTHERS) !== 0) {
    throw new Error(`${path} can be read by other users: run chmod 600 ${path}`)
  }
  return signingKeyFromPem(pem)
}

async function makeKey(
  path: string,
  random: { readonly bytes: (length: number) => Uint8Array },
): Promise<SigningKey> {
  const key = signingKeyFromSeed(random.bytes(32))
  const temporary = `${path}.${bytesToHex(random.bytes(6))}`
  await writeFile(temporary, signingKeyToPem(key), { mode: 0o600, flag: 'wx', flush: true })
  // Linked instead of renamed, so that the first process wins.
  await link(temporary, path).catch((error: unknown) => {
    if (!isErrno(error, 'EEXIST')) throw error
  })
  await rm(temporary)
  return (await readKey(path)) ?? key
}
