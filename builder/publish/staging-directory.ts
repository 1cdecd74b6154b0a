import { linkSync, mkdirSync, rmdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { mapConcurrent } from '../../src/core/concurrency.ts'
import { isErrno } from '../../src/core/errno.ts'
import { inSlices, unlinkIfExists, writeNew, writeUnflushed } from './files.ts'
import { flushAll } from './flush.ts'
import type { RecycledGeneration } from './recycle-generation.ts'

export interface StagingDirectory {
  readonly root: string
  readonly written: ReadonlySet<string>
  /** Creates the directory once. Returns null when it is empty, else the old generation it starts from. */
  readonly begin: () => Promise<RecycledGeneration | null>
  /** The file is durable only after `flush`. */
  readonly write: (file: string, bytes: Uint8Array) => Promise<void>
  /** Copies on file systems without links. Returns whether all were linked. */
  readonly link: (files: readonly string[], from: string) => Promise<boolean>
  readonly remove: (files: Iterable<string>) => Promise<void>
  readonly removeDirectoriesBut: (needed: ReadonlySet<string>) => void
  readonly flush: () => Promise<void>
}

interface Options {
  readonly nowMs: number
  readonly beforeStep?: ((step: string) => void) | undefined
  readonly recycle?: () => Promise<RecycledGeneration | null>
}

const COPIES_AT_ONCE = 16
const LINK_REFUSALS = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

export function createStagingDirectory(
  root: string,
  { nowMs, beforeStep: step, recycle = () => Promise.resolve(null) }: Options,
): StagingDirectory {
  const directories = new Set<string>()
  /** Directories in which a name is new or gone. */
  const changed = new Set<string>()
  const written = new Set<string>()
  let started: Promise<RecycledGeneration | null> | null = null

  async function start(): Promise<RecycledGeneration | null> {
    const recycled = await recycle()
    if (recycled === null) {
      mkdirSync(dirname(root), { recursive: true })
      makeDirectory('.')
      return null
    }
    for (const name of recycled.directories) directories.add(name)
    for (const file of recycled.lacking) noteChange(file)
    return recycled
  }

  function makeDirectory(name: string): void {
    if (directories.has(name)) return
    if (name !== '.') makeDirectory(dirname(name))
    step?.(`make ${name}`)
    // A recursive mkdir reports a full disk as a missing directory.
    mkdirSync(join(root, name))
    directories.add(name)
    changed.add(name).add(dirname(name))
  }

  function noteChange(file: string): void {
    if (directories.has(dirname(file))) changed.add(dirname(file))
  }

  const begin = (): Promise<RecycledGeneration | null> => (started ??= start())
  return {
    root,
    written,
    begin,
    write: async (file, bytes) => {
      const recycled = await begin()
      makeDirectory(dirname(file))
      step?.(`write ${file}`)
      // Never in place: other generations share the bytes of an existing file.
      if (recycled !== null) unlinkIfExists(join(root, file))
      writeUnflushed(join(root, file), bytes, nowMs)
      noteChange(file)
      written.add(file)
    },
    link: async (files, from) => {
      await begin()
      const refused: string[] = []
      await inSlices(files, (file) => {
        makeDirectory(dirname(file))
        step?.(`link ${file}`)
        noteChange(file)
        try {
          linkSync(`${from}/${file}`, `${root}/${file}`)
        } catch (error) {
          if (!LINK_REFUSALS.some((code) => isErrno(error, code))) throw error
          refused.push(file)
        }
      })
      await mapConcurrent(refused, COPIES_AT_ONCE, async (file) => {
        await writeNew(join(root, file), await readFile(join(from, file)))
      })
      return refused.length === 0
    },
    remove: async (files) => {
      await begin()
      for (const file of files) {
        step?.(`unlink ${file}`)
        if (unlinkIfExists(join(root, file))) noteChange(file)
      }
    },
    removeDirectoriesBut: (needed) => {
      const empty = [...directories].filter((name) => !needed.has(name)).sort(deepestFirst)
      for (const name of empty) {
        rmdirSync(join(root, name))
        directories.delete(name)
        changed.delete(name)
        changed.add(dirname(name))
      }
    },
    flush: async () => {
      step?.('flush files')
      const files = [...written].map((file) => join(root, file))
      const paths = [...changed].sort(deepestFirst).map((name) => join(root, name))
      await flushAll({ root, files, directories: paths })
    },
  }
}

function deepestFirst(left: string, right: string): number {
  return right.length - left.length
}

export function directoriesOf(files: Iterable<string>): ReadonlySet<string> {
  const found = new Set(['.'])
  for (const file of files) {
    for (let at = dirname(file); !found.has(at); at = dirname(at)) found.add(at)
  }
  return found
}
