/** File operations that survive a power cut: write, flush, rename, flush the directory. */
import {
  closeSync,
  constants,
  futimesSync,
  openSync,
  readdirSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { link, open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hrtime, pid } from 'node:process'
import { setImmediate } from 'node:timers/promises'

import { isErrno } from '../../src/core/errno.ts'

export async function writeNew(
  path: string,
  bytes: Uint8Array,
  options: { readonly mode?: number } = {},
): Promise<void> {
  const file = await open(path, 'wx', options.mode ?? 0o644)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A synchronous write takes a tenth of the time of a write in the thread pool. The caller flushes. */
export function writeUnflushed(path: string, bytes: Uint8Array, mtimeMs: number): void {
  const file = openSync(path, 'wx', 0o644)
  try {
    writeFileSync(file, bytes)
    const time = new Date(mtimeMs)
    futimesSync(file, time, time)
  } finally {
    closeSync(file)
  }
}

/** Flushes a file or a directory. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function draftOf(path: string): string {
  return `${path}.${pid}-${hrtime.bigint()}.new`
}

export async function replaceFile(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const draft = draftOf(path)
  await writeNew(draft, bytes, { mode })
  await rename(draft, path)
  await syncFile(dirname(path))
}

/** Creates a file atomically; returns false when it exists. */
export async function createFile(path: string, bytes: Uint8Array, mode: number): Promise<boolean> {
  const draft = draftOf(path)
  await writeNew(draft, bytes, { mode })
  try {
    await link(draft, path)
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  } finally {
    await rm(draft)
  }
  await syncFile(dirname(path))
  return true
}

export async function readIfExists(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

export async function namesIn(
  path: string,
  options: { readonly recursive?: boolean } = {},
): Promise<string[]> {
  try {
    return await readdir(path, options)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

export function unlinkIfExists(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** Removes a directory tree in a fifth of the time of `rm`. */
export async function removeDirectory(path: string): Promise<void> {
  const entries = readdirSync(path, { withFileTypes: true })
  for (const entry of entries.filter((each) => each.isDirectory())) {
    await removeDirectory(`${path}/${entry.name}`)
  }
  const files = entries.filter((each) => !each.isDirectory())
  await inSlices(files, ({ name }) => unlinkSync(`${path}/${name}`))
  rmdirSync(path)
}

const SLICE = 32

/** Runs synchronous work on many items and yields to the event loop regularly. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let done = 0
  for (const item of items) {
    work(item)
    done += 1
    if (done % SLICE === 0) await setImmediate()
  }
}
