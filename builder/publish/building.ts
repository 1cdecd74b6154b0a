/** The directory of the next generation, which nobody sees before it has its name. */
import { dirname, join } from 'node:path'

import { makeDirectories, writeUnflushed } from './files.ts'
import { flushAll } from './flush.ts'

export interface Building {
  readonly root: string
  /** Leaves the bytes to the cache of the system: they are safe once `flush` has resolved. */
  readonly write: (file: string, bytes: Uint8Array) => Promise<void>
  /** Makes the directories of files to come. */
  readonly prepare: (files: Iterable<string>) => Promise<void>
  readonly flush: () => Promise<void>
}

export function createBuilding(
  root: string,
  {
    nowMs,
    beforeStep: step,
  }: { readonly nowMs: number; readonly beforeStep?: (step: string) => void },
): Building {
  const directories = new Set<string>()
  const files: string[] = []
  const making = new Map<string, Promise<void>>()
  const make = async (file: string) => {
    step?.(`make ${dirname(file)}`)
    for (const made of await makeDirectories(root, [file])) directories.add(made)
  }
  const prepare = async (files: Iterable<string>) => {
    for (const file of files) {
      const made = making.get(dirname(file)) ?? make(file)
      making.set(dirname(file), made)
      await made
    }
  }
  return {
    root,
    prepare,
    write: async (file, bytes) => {
      await prepare([file])
      step?.(`write ${file}`)
      writeUnflushed(join(root, file), bytes, nowMs)
      files.push(join(root, file))
    },
    flush: async () => {
      step?.('flush files')
      const deepestFirst = [...directories].sort((left, right) => right.length - left.length)
      await flushAll({ root, files, directories: deepestFirst })
    },
  }
}
