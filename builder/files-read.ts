/** What was read of files is good as long as the files bear the marks that they bore. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Inode, size and times of a file: who writes to it changes them. Empty where there is none. */
export function marksOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return ''
  const { ino, size, mtimeMs, ctimeMs } = found
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** The same of a directory and all below it; `except` are names at its top. */
export function marksBelow(dir: string, except: readonly string[] = []): string {
  return readdirSync(dir, { withFileTypes: true })
    .filter(({ name }) => !except.includes(name))
    .map((entry) => {
      const path = join(dir, entry.name)
      return entry.isDirectory() ? marksBelow(path) : `${path} ${marksOf(path)}`
    })
    .join('\n')
}
