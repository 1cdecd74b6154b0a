import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export function createDisks(dir: string, seed: number) {
  const files: string[] = []
  return {
    copyOf: (path: string): string => {
      const made = join(dir, `${seed}-${files.length}.db`)
      files.push(made)
      // Includes the write-ahead log.
      for (const end of ['', '-wal']) {
        if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${made}${end}`)
      }
      return made
    },
    removeAll: (): void => {
      for (const file of files) {
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
      }
    },
  }
}
