import { existsSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'

import type { z } from 'zod'

import { isErrno } from '../../../src/core/errno.ts'
import { readIfExists } from '../../../src/files/durable.ts'

/** A synchronous write takes a tenth of the time of a write in the thread pool. The caller flushes. */
export function writeUnflushed(path: string, bytes: Uint8Array): void {
  writeFileSync(path, bytes, { flag: 'wx', mode: 0o644 })
}

/**
 * A recursive mkdir reports a full disk as a missing directory.
 * @param changed gets the directories whose names changed. @throws Error if `within` does not exist
 */
export function makeDirectories(path: string, changed: Set<string>, within?: string): void {
  if (path === within || existsSync(path)) return
  if (dirname(path) !== within) makeDirectories(dirname(path), changed, within)
  mkdirSync(path)
  changed.add(path).add(dirname(path))
}

export function unlinkIfExists(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

/** Null for a file that is missing or does not match the schema. */
export async function readFitting<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const bytes = await readIfExists(path)
  try {
    return schema.parse(JSON.parse(String(bytes)))
  } catch {
    return null
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
