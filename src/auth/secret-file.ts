import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

import type { Random } from '../core/deps.ts'
import { isErrno } from '../core/errno.ts'
import { bytesToHex } from '../core/hex.ts'

export async function readIfPresent(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** Creates a file with mode 0600 in a folder with mode 0700. Keeps a file that another process created first. */
export async function createSecretFile(
  path: string,
  content: string | Uint8Array,
  random: Pick<Random, 'bytes'>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${bytesToHex(random.bytes(6))}`
  await writeFile(temporary, content, { mode: 0o600, flag: 'wx', flush: true })
  // A link, unlike a rename, never replaces a file.
  await link(temporary, path).catch((error: unknown) => {
    if (!isErrno(error, 'EEXIST')) throw error
  })
  await rm(temporary)
}
