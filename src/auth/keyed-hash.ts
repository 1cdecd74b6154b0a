import { createHmac } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Random } from '../core/deps.ts'
import { isErrno } from '../core/errno.ts'

/** `purpose` separates the hashes of different uses. */
export type KeyedHash = (purpose: string, text: string) => string

const SECRET_BYTES = 32

/** Reads or creates the secret (mode 0600), which is stored outside the database. */
export async function loadKeyedHash(
  dir: string,
  random: Pick<Random, 'bytes'>,
): Promise<KeyedHash> {
  const path = join(dir, 'hash.key')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const kept = await readIfThere(path)
  return keyedHashOf(kept ?? (await make(path, random)))
}

export function keyedHashOf(secret: Uint8Array): KeyedHash {
  return (purpose, text) => createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('hex')
}

async function readIfThere(path: string): Promise<Buffer | null> {
  let secret: Buffer
  try {
    secret = await readFile(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
  if (secret.length !== SECRET_BYTES)
    throw new Error(`${path} does not contain ${SECRET_BYTES} bytes`)
  return secret
}

async function make(path: string, random: Pick<Random, 'bytes'>): Promise<Uint8Array> {
  const secret = random.bytes(SECRET_BYTES)
  const temporary = `${path}.${Buffer.from(random.bytes(6)).toString('hex')}`
  await writeFile(temporary, secret, { mode: 0o600, flag: 'wx', flush: true })
  // Linked instead of renamed, so that the first process wins.
  await link(temporary, path).catch((error: unknown) => {
    if (!isErrno(error, 'EEXIST')) throw error
  })
  await rm(temporary)
  return (await readIfThere(path)) ?? secret
}
