/** Files beside the published sets, in a directory or a bucket. */
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { readIfExists, replaceFile, syncFile } from '../../src/files/durable.ts'
import { namesIn } from './files.ts'

export interface PublicFiles {
  /** Null for a missing file. */
  readonly get: (key: string) => Promise<{ readonly bytes: Buffer } | null>
  /** Names start with `dir`, which ends with a slash. */
  readonly list: (dir: string) => Promise<ReadonlyMap<string, number>>
  /** On return, the file is durable. */
  readonly put: (key: string, body: Uint8Array, headers: Record<string, string>) => Promise<unknown>
  readonly remove: (key: string) => Promise<void>
}

export function filesIn(publicDir: string): PublicFiles {
  return {
    get: async (key) => {
      const bytes = await readIfExists(join(publicDir, key))
      return bytes === null ? null : { bytes }
    },
    list: async (dir) =>
      new Map((await namesIn(join(publicDir, dir))).map((name) => [dir + name, 0])),
    put: async (key, body) => {
      const path = resolve(publicDir, key)
      const dir = dirname(path)
      const made = await mkdir(dir, { recursive: true })
      await replaceFile(path, body, 0o644)
      // Else a power cut could take a new directory away, with its files.
      for (let at = dir; at.length >= (made ?? path).length; at = dirname(at)) {
        await syncFile(dirname(at))
      }
    },
    remove: (key) => rm(join(publicDir, key), { force: true, recursive: true }),
  }
}
