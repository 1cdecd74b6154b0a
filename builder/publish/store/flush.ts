/** Flushes many files with `sync -f`, since Node has no `syncfs` and a flush per file dominates a full build. */
import { execFile } from 'node:child_process'
import { release } from 'node:os'
import { platform } from 'node:process'
import { promisify } from 'node:util'

import { mapConcurrent } from '../../../src/core/concurrency.ts'
import { syncFile } from '../../../src/files/durable.ts'

const MANY_FILES = 256
const FLUSHES_AT_ONCE = 16
const SYNC_TIMEOUT_MS = 120_000
/** Older kernels do not report write errors to `syncfs`. */
const MIN_KERNEL = [5, 8] as const

/** @throws Error when the disk refuses any write */
export async function flushAll(
  root: string,
  files: readonly string[],
  directories: readonly string[],
): Promise<void> {
  if (files.length >= MANY_FILES && (await syncFileSystem(root))) return
  await mapConcurrent(files, FLUSHES_AT_ONCE, (file) => syncFile(file, 'r+'))
  for (const directory of directories) await syncFile(directory)
}

/** Returns false on failure, so that flushing file by file finds the failing disk. */
async function syncFileSystem(path: string): Promise<boolean> {
  if (platform !== 'linux' || !reportsWriteErrors(release())) return false
  try {
    await promisify(execFile)('sync', ['-f', path], { timeout: SYNC_TIMEOUT_MS })
    return true
  } catch {
    return false
  }
}

function reportsWriteErrors(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10))
  const [leastMajor, leastMinor] = MIN_KERNEL
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}
