/**
 * Flushing many new files at once.
 *
 * A flush per file costs a third of a millisecond of the processor and more of the disk, and thousands of files make
 * that the larger part of a full build. Linux can flush a whole file system in one call (`syncfs`), but Node has no
 * name for it, so `sync -f` of coreutils or busybox is run. Where there is none, each file is flushed as ever.
 */
import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { release } from 'node:os'
import { platform } from 'node:process'
import { promisify } from 'node:util'

import { inParallel, syncDirectory } from './files.ts'

/** From here on one flush of all is cheaper than a process and what others left to be written are dear. */
const MANY_FILES = 256
const FLUSHES_AT_ONCE = 16
/** It may have to write what others left on the file system as well. */
const SYNC_TIMEOUT_MS = 120_000
/** Before this one `syncfs` kept to itself that a file could not be written. */
const TELLING_KERNEL = [5, 8] as const

export interface NewFiles {
  /** All of them lie below it, on one file system. */
  readonly root: string
  readonly files: readonly string[]
  /** Deepest first. */
  readonly directories: readonly string[]
}

export interface FlushOptions {
  /** The program that flushes a file system; another only in tests. */
  readonly syncProgram?: string
}

/**
 * When it resolves, a power cut takes neither the bytes of the files nor their names.
 * @throws Error where the disk refused any of them.
 */
export async function flushAll(
  { root, files, directories }: NewFiles,
  { syncProgram = 'sync' }: FlushOptions = {},
): Promise<void> {
  if (files.length >= MANY_FILES && (await syncFileSystem(syncProgram, root))) return
  await inParallel(files, FLUSHES_AT_ONCE, flushFile)
  for (const directory of directories) await syncDirectory(directory)
}

/** Through another descriptor than the one that wrote: the kernel tells the next one to ask of what was lost. */
async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** False where it could not be done: flushing file by file then says whether the disk is to blame. */
async function syncFileSystem(program: string, path: string): Promise<boolean> {
  if (platform !== 'linux' || !tellsOfLosses(release())) return false
  try {
    await promisify(execFile)(program, ['-f', path], { timeout: SYNC_TIMEOUT_MS })
    return true
  } catch {
    return false
  }
}

function tellsOfLosses(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10))
  const [leastMajor, leastMinor] = TELLING_KERNEL
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}
