/** The published set that is being served, and the switch to the next one. */
import { readlink, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { CURRENT_LINK, MANIFEST_FILE } from '../core/documents.ts'
import type { Manifest } from '../core/documents.ts'
import type { Clock, Log } from '../deps.ts'
import { BrokenSetError, readDocumentSet } from './document-set.ts'
import type { StoredDocument } from './documents.ts'

interface StoreState {
  /** Manifest of the set that is served; null before the first. */
  readonly manifest: Manifest | null
  /** Why the set that is published now is not the one served; null where it is. */
  readonly problem: string | null
}

export interface DocumentStore {
  readonly get: (path: string) => StoredDocument | undefined
  readonly state: () => StoreState
  /**
   * Serves what is published now. All of it at once: a reader sees the old set or the new one. A set
   * that cannot be read whole is refused, the old one stays, and `state().problem` says why.
   */
  readonly reload: () => Promise<void>
  /** Reloads whenever the symlink points elsewhere, until the signal aborts. For a builder next door. */
  readonly watch: (signal: AbortSignal) => Promise<void>
}

const WATCH_INTERVAL_MS = 1000
/** A set refused once is tried again this late: its files do not change any more. */
const RETRY_INTERVAL_MS = 30_000

interface Deps {
  readonly publicDir: string
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly log: Log
}

export function createDocumentStore({ publicDir, clock, log }: Deps): DocumentStore {
  let documents: ReadonlyMap<string, StoredDocument> = new Map()
  let manifest: Manifest | null = null
  let problem: string | null = 'nothing has been published yet'
  let served: string | null = null
  let refused: { readonly mark: string; readonly atMs: number } | null = null
  let running: Promise<void> = Promise.resolve()

  const load = async (): Promise<void> => {
    const current = await currentSet(publicDir)
    if (current === null) {
      problem = manifest === null ? 'nothing has been published yet' : 'the published set is gone'
      return
    }
    if (current.mark === served) {
      problem = null
      return
    }
    try {
      const set = await readDocumentSet(current.directory, documents)
      documents = set.documents
      manifest = set.manifest
      served = current.mark
      problem = null
      refused = null
      log.info('serving', { documents: documents.size, computed_at: manifest.computed_at })
    } catch (error) {
      if (!(error instanceof BrokenSetError)) throw error
      problem = error.message
      refused = { mark: current.mark, atMs: clock.monotonic() }
      log.error('published set refused', { reason: error.message })
    }
  }

  const reload = (): Promise<void> => {
    // One after the other: of two at once the slower could bring the older set back.
    running = running.then(load, load)
    return running
  }

  const isDue = async (): Promise<boolean> => {
    const current = await currentSet(publicDir)
    if (current === null) return manifest !== null && problem === null
    if (current.mark === served) return problem !== null
    const isKnownBad = refused !== null && refused.mark === current.mark
    return !isKnownBad || clock.monotonic() - (refused?.atMs ?? 0) >= RETRY_INTERVAL_MS
  }

  return {
    get: (path) => documents.get(path),
    state: () => ({ manifest, problem }),
    reload,
    async watch(signal) {
      while (!signal.aborted) {
        if (await isDue()) await reload()
        await clock.sleep(WATCH_INTERVAL_MS, signal).catch(ignoreAbort(signal))
      }
    },
  }
}

interface CurrentSet {
  /** The generation by its own name, so that a switch while it is read cannot mix two sets. */
  readonly directory: string
  /** Tells one set from another, also where a name is used anew after the directory was emptied. */
  readonly mark: string
}

/** Null where nothing is published. */
async function currentSet(publicDir: string): Promise<CurrentSet | null> {
  try {
    const target = await readlink(join(publicDir, CURRENT_LINK))
    const directory = resolve(publicDir, target)
    const { ino, mtimeMs, size } = await stat(join(directory, MANIFEST_FILE))
    return { directory, mark: `${target} ${ino} ${mtimeMs} ${size}` }
  } catch {
    return null
  }
}

function ignoreAbort(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
