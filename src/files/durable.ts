/** File operations that survive a power cut: write, flush, rename, flush the directory. */
import { link, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hrtime, pid } from 'node:process'

import { isErrno } from '../core/errno.ts'

const OTHERS = 0o077

/** Flushes a file or a directory. With `r+`, also reports write errors of closed descriptors. */
export async function syncFile(path: string, flags: 'r' | 'r+' = 'r'): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function writeDraft(path: string, content: string | Uint8Array, mode: number) {
  const draft = `${path}.${pid}-${hrtime.bigint()}.new`
  await writeFile(draft, content, { mode, flag: 'wx', flush: true })
  return draft
}

export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
): Promise<void> {
  await rename(await writeDraft(path, content, mode), path)
  await syncFile(dirname(path))
}

/** Creates a file atomically, and keeps a file that another process created first. */
export async function createFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
): Promise<void> {
  const draft = await writeDraft(path, content, mode)
  try {
    // A link, unlike a rename, never replaces a file.
    await link(draft, path)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    await rm(draft)
  }
  await syncFile(dirname(path))
}

export async function readIfExists(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** A file that the operator must restore or correct. The message names it, and never contains what is in it. */
export class UnusableFileError extends Error {
  override readonly name = 'UnusableFileError'
}

/** @throws UnusableFileError with the command that gives `path` the mode `wanted`, if other users can read it */
export async function refuseLoose(path: string, wanted: number): Promise<void> {
  const mode = (await stat(path)).mode & 0o777
  if ((mode & OTHERS) === 0) return
  const command = `chmod ${wanted.toString(8)} ${path}`
  throw new UnusableFileError(
    `${path} can be read by users other than its owner (mode ${mode.toString(8)}): ${command}`,
  )
}
