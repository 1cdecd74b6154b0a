/** The published set that is being served, and the switch to the next one. */
import { readlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { CURRENT_LINK } from '../core/documents.ts'
import type { Manifest } from '../core/documents.ts'
import type { Clock, Log } from '../deps.ts'
import { BrokenSetError, readDocumentSet } from './document-set.ts'
import type { StoredDocument } from './documents.ts'

export interface StoreState {
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
  let servedTarget: string | null = null
  let refused: { readonly target: string | null; readonly atMs: number } | null = null
  let running: Promise<void> = Promise.resolve()

  const load = async (): Promise<void> => {
    const target = await currentTarget(publicDir)
    if (target !== null && target === servedTarget) {
      problem = null
      return
    }
    try {
      if (target === null) throw new BrokenSetError('nothing has been published yet')
      // Read through the name of the generation, so that a switch meanwhile cannot mix two sets.
      const set = await readDocumentSet(resolve(publicDir, target), documents)
      documents = set.documents
      manifest = set.manifest
      servedTarget = target
      problem = null
      refused = null
    } catch (error) {
      if (!(error instanceof BrokenSetError)) throw error
      problem = error.message
      refused = { target, atMs: clock.monotonic() }
      if (target !== null) log.error('published set refused', { reason: error.message })
    }
  }

  const reload = (): Promise<void> => {
    // One after the other: of two at once the slower could bring the older set back.
    running = running.then(load, load)
    return running
  }

  const isDue = (target: string | null): boolean => {
    if (target === null || target === servedTarget) return false
    const wasRefused = refused !== null && refused.target === target
    return !wasRefused || clock.monotonic() - (refused?.atMs ?? 0) >= RETRY_INTERVAL_MS
  }

  return {
    get: (path) => documents.get(path),
    state: () => ({ manifest, problem }),
    reload,
    async watch(signal) {
      while (!signal.aborted) {
        if (isDue(await currentTarget(publicDir))) await reload()
        await clock.sleep(WATCH_INTERVAL_MS, signal).catch(ignoreAbort(signal))
      }
    },
  }
}

/** What `current` points to, relative to the public directory; null where there is none. */
async function currentTarget(publicDir: string): Promise<string | null> {
  try {
    return await readlink(join(publicDir, CURRENT_LINK))
  } catch {
    return null
  }
}

function ignoreAbort(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
