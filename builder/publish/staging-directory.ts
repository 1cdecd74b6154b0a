/** The directory of the next generation, which nobody sees before it has its name. */
import { dirname, join } from 'node:path'

import { makeDirectories, writeUnflushed } from './files.ts'
import { flushAll } from './flush.ts'
import { removeEmpty, unlinkIfThere } from './recycle-generation.ts'
import type { Reused } from './recycle-generation.ts'

export interface StagingDirectory {
  readonly root: string
  /** Begins the directory, as the first call of any other does: anew (null), or with what an old generation holds. */
  readonly begin: () => Promise<Reused | null>
  /** Leaves the bytes to the cache of the system: they are safe once `flush` has resolved. */
  readonly write: (file: string, bytes: Uint8Array) => Promise<void>
  /** Makes the directories of files to come. */
  readonly prepare: (files: Iterable<string>) => Promise<void>
  /** Takes out files of the old generation, then what directories are not `needed` any more. */
  readonly clear: (files: Iterable<string>, needed: ReadonlySet<string>) => Promise<void>
  /** What was written. */
  readonly written: ReadonlySet<string>
  readonly flush: () => Promise<void>
}

export function createStagingDirectory(
  root: string,
  {
    nowMs,
    beforeStep: step,
    reuse = () => Promise.resolve(null),
    assertHeld = () => undefined,
  }: {
    readonly nowMs: number
    readonly beforeStep?: (step: string) => void
    readonly reuse?: () => Promise<Reused | null>
    /** Throws where the directory is another builder's by now; asked before a file in it is unlinked. */
    readonly assertHeld?: () => void
  },
): StagingDirectory {
  /** Those in which a name is new or gone, relative. */
  const directories = new Set<string>()
  const written = new Set<string>()
  const making = new Map<string, Promise<void>>()
  let begun: Promise<Reused | null> | null = null
  const begin = (): Promise<Reused | null> => (begun ??= reuse().then(note))
  const note = (reused: Reused | null): Reused | null => {
    for (const file of reused?.lacking ?? []) {
      if (reused?.directories.includes(dirname(file)) === true) directories.add(dirname(file))
    }
    return reused
  }
  const make = async (file: string) => {
    const reused = await begin()
    if (reused?.directories.includes(dirname(file)) === true) {
      directories.add(dirname(file))
      return
    }
    step?.(`make ${dirname(file)}`)
    for (const made of await makeDirectories(root, [file])) {
      directories.add(made.slice(root.length + 1) || '.')
    }
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
    begin,
    prepare,
    written,
    write: async (file, bytes) => {
      await prepare([file])
      step?.(`write ${file}`)
      // Never over a file that is there: its bytes are those of other generations too.
      if ((await begin()) !== null) {
        assertHeld()
        unlinkIfThere(join(root, file))
      }
      writeUnflushed(join(root, file), bytes, nowMs)
      written.add(file)
    },
    clear: async (files, needed) => {
      const reused = await begin()
      assertHeld()
      for (const file of files) {
        step?.(`unlink ${file}`)
        unlinkIfThere(join(root, file))
        directories.add(dirname(file))
      }
      for (const name of removeEmpty(root, reused?.directories ?? [], needed)) directories.add(name)
      for (const name of directories) if (!needed.has(name)) directories.delete(name)
    },
    flush: async () => {
      step?.('flush files')
      const deepestFirst = [...directories]
        .map((name) => join(root, name))
        .sort((left, right) => right.length - left.length)
      const files = [...written].map((file) => join(root, file))
      await flushAll({ root, files, directories: deepestFirst })
    },
  }
}
