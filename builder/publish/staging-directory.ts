import { linkSync, mkdirSync, rmdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { mapConcurrent } from '../../src/core/concurrency.ts'
import { isErrno } from '../../src/core/errno.ts'
import { inSlices, unlinkIfExists, writeUnflushed } from './files.ts'
import { flushAll } from './flush.ts'
import type { RecycledGeneration, StagedFiles } from './recycle-generation.ts'

export type StagingDirectory = ReturnType<typeof createStagingDirectory>

interface ReusedFiles {
  readonly files: readonly string[]
  /** Null before the first publication. */
  readonly from: string | null
  /** Files of the previous generation that the next one does not contain. */
  readonly gone: readonly string[]
}

interface Options {
  readonly nowMs: number
  readonly beforeStep?: ((step: string) => void) | undefined
  /** Copies files instead of linking them. */
  readonly isCopy?: boolean
  /** Turns an old generation into the staging directory. Returns null if no generation can be used. */
  readonly recycle: () => Promise<RecycledGeneration>
}

const COPIES_AT_ONCE = 16
const LINK_REFUSALS = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Writes the next generation below `root`. */
export function createStagingDirectory(
  root: string,
  { nowMs, beforeStep: step, isCopy = false, recycle }: Options,
) {
  const directories = new Set<string>()
  /** Directories in which a name was added or removed. */
  const changed = new Set<string>()
  const written = new Set<string>()
  const linked = new Set<string>()
  const copied: string[] = []
  const removed = new Set<string>()
  let started: Promise<RecycledGeneration> | null = null

  async function start(): Promise<RecycledGeneration> {
    const recycled = await recycle()
    if (recycled === null) {
      makeDirectory('.')
      return null
    }
    for (const name of recycled.directories) directories.add(name)
    for (const file of recycled.lacking) noteChange(file)
    return recycled
  }

  const begin = (): Promise<RecycledGeneration> => (started ??= start())

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

  async function link(files: readonly string[], from: string): Promise<void> {
    await inSlices(files, (file) => {
      makeDirectory(dirname(file))
      step?.(`link ${file}`)
      noteChange(file)
      linked.add(file)
      try {
        if (isCopy) copied.push(file)
        else linkSync(`${from}/${file}`, `${root}/${file}`)
      } catch (error) {
        if (!LINK_REFUSALS.some((code) => isErrno(error, code))) throw error
        copied.push(file)
      }
    })
    await mapConcurrent(copied, COPIES_AT_ONCE, async (file) => {
      const source = join(from, file)
      const [bytes, { mtimeMs }] = await Promise.all([readFile(source), stat(source)])
      writeUnflushed(join(root, file), bytes, mtimeMs)
    })
  }

  function removeDirectoriesBut(needed: ReadonlySet<string>): void {
    const empty = [...directories].filter((name) => !needed.has(name)).sort(deepestFirst)
    for (const name of empty) {
      rmdirSync(join(root, name))
      directories.delete(name)
      changed.delete(name)
      changed.add(dirname(name))
    }
  }

  return {
    /** The first call creates the directory. The file is durable only after `flush`. */
    write: async (file: string, bytes: Uint8Array) => {
      const recycled = await begin()
      makeDirectory(dirname(file))
      step?.(`write ${file}`)
      // Files are never changed in place, since other generations share their bytes.
      if (recycled !== null) unlinkIfExists(join(root, file))
      writeUnflushed(join(root, file), bytes, nowMs)
      noteChange(file)
      written.add(file)
    },
    /** Links `files` of the directory `from`, and removes `gone` and directories that became empty. */
    reuse: async ({ files, from, gone }: ReusedFiles) => {
      const recycled = await begin()
      const missing = recycled === null ? files : files.filter((file) => recycled.lacking.has(file))
      if (from !== null) await link(missing, from)
      for (const file of gone) {
        removed.add(file)
        if (recycled === null || written.has(file)) continue
        step?.(`unlink ${file}`)
        if (unlinkIfExists(join(root, file))) noteChange(file)
      }
      removeDirectoriesBut(directoriesOf([...files, ...written]))
    },
    flush: async (): Promise<StagedFiles> => {
      step?.('flush files')
      const files = [...written, ...copied].map((file) => join(root, file))
      const paths = [...changed].sort(deepestFirst).map((name) => join(root, name))
      await flushAll(root, files, paths)
      return {
        directories,
        renewed: (await begin()) === null ? null : new Set([...linked, ...written]),
        touched: copied.length > 0 ? null : new Set([...removed, ...written]),
      }
    },
  }
}

function deepestFirst(left: string, right: string): number {
  return right.length - left.length
}

function directoriesOf(files: Iterable<string>): ReadonlySet<string> {
  const found = new Set(['.'])
  for (const file of files) {
    for (let at = dirname(file); !found.has(at); at = dirname(at)) found.add(at)
  }
  return found
}
