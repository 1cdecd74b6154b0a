/** A directory. `current` links the files of the current set by path, for plain web servers. */
import { readFileSync, renameSync, statSync } from 'node:fs'
import { readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

import { sha256Hex } from '../../../src/auth/messages.ts'
import { mapConcurrent } from '../../../src/core/concurrency.ts'
import { isErrno } from '../../../src/core/errno.ts'
import { minuteMs } from '../../../src/core/time.ts'
import { replaceFile, syncFile } from '../../../src/files/durable.ts'
import { filesBelow } from '../../../src/files/readable-files.ts'
import { inSlices, makeDirectories, namesIn, unlinkIfExists, writeUnflushed } from './files.ts'
import { flushAll } from './flush.ts'
import type { Put, SetStore, StoredFile } from './store.ts'
import { createViews } from './views.ts'
import type { DirectoryDeps } from './views.ts'

const DRAFTS_DIR = 'drafts'
const STATS_AT_ONCE = 16

export function createDirectory(deps: DirectoryDeps): SetStore {
  const { publicDir, fence } = deps
  return {
    ...filesBelow(publicDir),
    list: (dir) => listFiles(publicDir, dir),
    put: async (key, bytes) => {
      const path = join(publicDir, key)
      const changed = new Set<string>()
      makeDirectories(dirname(path), changed)
      await replaceFile(path, bytes, 0o644)
      for (const directory of changed) await syncFile(directory)
    },
    batch: createBatch(deps),
    /** Also removes the directory after its last file. */
    remove: async (key) => {
      const path = join(publicDir, key)
      await rm(path, { force: true })
      await rmdir(dirname(path)).catch(() => undefined)
    },
    fence,
    keeps: { sets: 4, ageMs: minuteMs, marginMs: 0 },
    damaged: async (files, checked) => {
      const damaged = new Set<string>()
      await inSlices(files, (file) => {
        const fingerprint = fingerprintOf(`${publicDir}/${file.key}`)
        if (checked.get(file.key) === fingerprint) return
        if (hasHash(publicDir, file)) checked.set(file.key, fingerprint)
        else damaged.add(file.key)
      })
      return damaged
    },
    canShow: () => Promise.resolve(true),
    show: createViews(deps),
  }
}

async function listFiles(publicDir: string, dir: string): Promise<ReadonlyMap<string, number>> {
  const root = join(publicDir, dir)
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(
    (error: unknown) => {
      if (isErrno(error, 'ENOENT')) return []
      throw error
    },
  )
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
  const times = await mapConcurrent(paths, STATS_AT_ONCE, async (path) => {
    const found = await stat(path).catch(() => null)
    return [dir + relative(root, path), found?.mtimeMs ?? 0] as const
  })
  return new Map(times)
}

/**
 * Files are renamed after all of them are flushed, so that a name never refers to a partial file. Drafts are in a directory
 * of the lease, which the next leader removes, so that a paused builder cannot rename any.
 */
function createBatch(deps: DirectoryDeps): SetStore['batch'] {
  const { publicDir, fence, check, beforeStep: step } = deps
  const drafts = join(publicDir, DRAFTS_DIR)
  const own = join(drafts, String(fence))
  let begun: Promise<void> | null = null
  let isFirst = true

  async function begin(): Promise<void> {
    for (const name of isFirst ? await namesIn(drafts) : []) {
      if (Number(name) <= fence) await rm(join(drafts, name), { recursive: true, force: true })
    }
    isFirst = false
    const changed = new Set<string>()
    makeDirectories(own, changed)
    for (const directory of changed) await syncFile(directory)
    await check()
  }

  async function nameAll(draftOf: ReadonlyMap<string, string>): Promise<void> {
    const changed = new Set<string>()
    step?.('flush files')
    await flushAll(own, [...draftOf.values()], [])
    await inSlices(draftOf, ([key, draft]) => {
      const path = join(publicDir, key)
      makeDirectories(dirname(path), changed)
      changed.add(dirname(path))
      step?.(`name ${key}`)
      renameSync(draft, path)
    })
    step?.('flush names')
    for (const directory of changed) await syncFile(directory)
  }

  return async (work) => {
    const draftOf = new Map<string, string>()
    const put: Put = async (key, bytes) => {
      await (begun ??= begin())
      if (draftOf.has(key)) return
      const draft = join(own, String(draftOf.size))
      draftOf.set(key, draft)
      step?.(`write ${key}`)
      writeUnflushed(draft, bytes)
    }
    try {
      const result = await work(put)
      if (draftOf.size > 0) await nameAll(draftOf)
      return result
    } catch (error) {
      // If the directory was removed, the next file creates it again.
      begun = null
      for (const draft of draftOf.values()) unlinkIfExists(draft)
      throw error
    }
  }
}

/** Not `ctime`, which changes with every link. A change that keeps the time is found by the next process or full build. */
function fingerprintOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`
}

function hasHash(publicDir: string, { key, sha256: expected, size }: StoredFile): boolean {
  try {
    const bytes = readFileSync(join(publicDir, key))
    return bytes.length === size && sha256Hex(bytes) === expected
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'EIO')) return false
    throw error
  }
}
