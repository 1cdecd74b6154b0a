/** Files that may be missing, and marks by which one knows that what was read of them is still good. */
import { readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { isErrno } from '../../src/core/errno.ts'

/** Inode, size and times of a file: who writes to it changes them. Empty where there is none. */
export function statFingerprint(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return ''
  const { ino, size, mtimeMs, ctimeMs } = found
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** The same of a directory and all below it; `except` are names at its top. */
export function treeFingerprint(dir: string, except: readonly string[] = []): string {
  return readdirSync(dir, { withFileTypes: true })
    .filter(({ name }) => !except.includes(name))
    .map((entry) => {
      const path = join(dir, entry.name)
      return entry.isDirectory() ? treeFingerprint(path) : `${path} ${statFingerprint(path)}`
    })
    .join('\n')
}

/** The text of a file, or null where there is none. */
export async function readTextIfExists(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}
