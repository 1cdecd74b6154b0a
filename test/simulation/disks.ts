import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface Disks {
  readonly copyOf: (path: string) => string
  readonly removeAll: () => void
}

/** The database files of one run. */
export function createDisks(dir: string, seed: number): Disks {
  const files: string[] = []
  return {
    copyOf: (path) => {
      const made = join(dir, `${seed}-${files.length}.db`)
      files.push(made)
      // Includes the write-ahead log.
      for (const end of ['', '-wal']) {
        if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${made}${end}`)
      }
      return made
    },
    removeAll: () => {
      for (const file of files) {
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
      }
    },
  }
}
