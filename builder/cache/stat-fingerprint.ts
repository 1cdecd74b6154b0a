import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { readIfExists } from '../../src/files/durable.ts'

/** Returns inode, size and times, or an empty string if the file is missing. */
export function statFingerprint(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return ''
  const { ino, size, mtimeMs, ctimeMs } = found
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** `except` lists names in the root directory to skip. */
export function treeFingerprint(dir: string, except: readonly string[] = []): string {
  return readdirSync(dir, { withFileTypes: true })
    .filter(({ name }) => !except.includes(name))
    .map((entry) => {
      const path = join(dir, entry.name)
      return entry.isDirectory() ? treeFingerprint(path) : `${path} ${statFingerprint(path)}`
    })
    .join('\n')
}

export async function readTextIfExists(path: string): Promise<string | null> {
  return (await readIfExists(path))?.toString() ?? null
}
