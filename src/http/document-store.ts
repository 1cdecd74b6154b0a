import { createSerialQueue } from '../core/concurrency.ts'
import type { Clock, Log } from '../core/deps.ts'
/** The published set that is being served, and the switch to the next one. */
import type { Manifest } from '../core/documents.ts'
import { BrokenSetError, readDocumentSet } from './document-set.ts'
import type { StoredDocument } from './documents.ts'
import { currentSet, setsBefore } from './published-sets.ts'
import type { SetPlace } from './published-sets.ts'

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
   * that cannot be read whole is refused, the old one stays, and `state().problem` says why. Where there
   * is no old one yet, after a start, it is the newest one on the disk that is whole.
   */
  readonly reload: () => Promise<void>
  /** Reloads whenever the symlink points elsewhere, until the signal aborts. For a builder next door. */
  readonly watch: (signal: AbortSignal) => Promise<void>
}

const WATCH_INTERVAL_MS = 1000
/** A set refused once is tried again this late: its files do not change any more. */
const RETRY_INTERVAL_MS = 30_000

const NOTHING_YET = 'nothing has been published yet'
const MISSING = 'the published set is gone'

/** What a reader is told while no set is served: whether to wait for the first one, or for a good one. */
export function nothingServed(store: Pick<DocumentStore, 'state'>): string {
  return store.state().problem === NOTHING_YET
    ? 'Nothing has been published yet'
    : 'No published set can be served'
}

interface Deps {
  readonly publicDir: string
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly log: Log
}

export function createDocumentStore({ publicDir, clock, log }: Deps): DocumentStore {
  let documents: ReadonlyMap<string, StoredDocument> = new Map()
  let manifest: Manifest | null = null
  let problem: string | null = NOTHING_YET
  let served: string | null = null
  let refused: { readonly mark: string; readonly atMs: number } | null = null
  /** What is added to `problem` while the set that is served was found after a start, in place of a damaged one. */
  let substitution = ''
  const inOrder = createSerialQueue()

  /** Serves the set there. Answers why it cannot be, else null. */
  const take = async ({ directory, mark }: SetPlace): Promise<string | null> => {
    try {
      const set = await readDocumentSet(directory, documents)
      documents = set.documents
      manifest = set.manifest
      served = mark
      return null
    } catch (error) {
      if (!(error instanceof BrokenSetError)) throw error
      return error.message
    }
  }

  /** The newest set that is whole, of those before the one that is refused. */
  const takeOlder = async (current: SetPlace | null): Promise<void> => {
    for (const place of await setsBefore(publicDir, current)) {
      const reason = await take(place)
      if (reason === null && manifest !== null) {
        const { computed_at: computedAt } = manifest
        substitution = `; until there is a good one, the set of ${computedAt} is served`
        log.error('an older published set is served', {
          set: place.name,
          documents: documents.size,
          computed_at: computedAt,
        })
        return
      }
      log.error('older published set refused', { set: place.name, reason })
    }
  }

  const load = async (): Promise<void> => {
    const current = await currentSet(publicDir)
    if (current !== null && current.mark === served) {
      problem = null
      substitution = ''
      return
    }
    const reason = current === null ? MISSING : await take(current)
    if (reason === null) {
      problem = null
      refused = null
      substitution = ''
      log.info('serving', { documents: documents.size, computed_at: manifest?.computed_at })
      return
    }
    if (current !== null) {
      refused = { mark: current.mark, atMs: clock.monotonic() }
      log.error('published set refused', { reason })
    }
    if (manifest === null) await takeOlder(current)
    const isEarly = current === null && manifest === null
    problem = isEarly ? NOTHING_YET : `${reason}${substitution}`
  }

  /** In order, since the slower of two concurrent loads could bring the older set back. */
  const reload = (): Promise<void> => inOrder(load)

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

function ignoreAbort(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
