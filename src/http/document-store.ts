import { createSerialQueue, repeatEvery } from '../core/concurrency.ts'
import type { Clock, Log } from '../core/deps.ts'
import type { Manifest } from '../core/documents.ts'
import { ObjectStoreError } from '../outbound/object-store.ts'
import { BrokenSetError, readDocumentSet } from './document-set.ts'
import type { StoredDocument } from './documents.ts'
import type { SetPlace, SetSource } from './published-sets.ts'

interface StoreState {
  readonly manifest: Manifest | null
  /** The reason why the current published set is not served, or not completely; null if it is. */
  readonly problem: string | null
  /** Documents of the served set that are not served, since their files are damaged. */
  readonly damaged: ReadonlyMap<string, string>
}

export interface DocumentStore {
  readonly get: (path: string) => StoredDocument | undefined
  readonly getFile: SetSource['getFile']
  readonly state: () => StoreState
  /**
   * Switches to the current published set atomically, without its damaged documents. If it cannot be served, keeps the
   * previous set or, after a start, loads the newest older one; `state().problem` then contains the reason.
   */
  readonly reload: () => Promise<void>
  /** Reloads when the current set changes, until the signal aborts. */
  readonly watch: (signal: AbortSignal) => Promise<void>
}

type BrokenSet = BrokenSetError | ObjectStoreError

const WATCH_INTERVAL_MS = 1000
const RETRY_INTERVAL_MS = 30_000
const MAX_NAMED = 5

const NOTHING_YET = 'nothing has been published yet'
const DAMAGED = 'The published file of this document is damaged; the next build writes it again'

export function nothingServed(store: Pick<DocumentStore, 'state'>): string {
  const { manifest, problem } = store.state()
  if (manifest !== null) return DAMAGED
  return problem === NOTHING_YET
    ? 'Nothing has been published yet'
    : 'No published set can be served'
}

interface Deps {
  readonly source: SetSource
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly log: Log
}

export function createDocumentStore({ source, clock, log }: Deps): DocumentStore {
  let documents: ReadonlyMap<string, StoredDocument> = new Map()
  let manifest: Manifest | null = null
  let damaged: ReadonlyMap<string, string> = new Map()
  let problem: string | null = NOTHING_YET
  let served: string | null = null
  let refused: { readonly location: string; readonly atMs: number } | null = null
  /** Appended to `problem` while an older set replaces a damaged one. */
  let substitution = ''
  const queue = createSerialQueue()

  const serveSet = async ({ read, location }: SetPlace): Promise<BrokenSet | null> => {
    try {
      const set = await readDocumentSet(read, documents)
      documents = set.documents
      manifest = set.manifest
      damaged = set.damaged
      served = damaged.size === 0 ? location : null
      return null
    } catch (error) {
      if (error instanceof BrokenSetError || error instanceof ObjectStoreError) return error
      throw error
    }
  }

  const serveOlder = async (current: SetPlace): Promise<void> => {
    for (const place of await source.before(current)) {
      const broken = await serveSet(place)
      if (broken === null && manifest !== null) {
        const { computed_at: computedAt } = manifest
        const without = damaged.size === 0 ? '' : `, although ${damagedText(damaged)}`
        substitution = `; until there is a valid one, the set of ${computedAt} is served${without}`
        log.error('an older published set is served', {
          set: place.location,
          documents: documents.size,
          computed_at: computedAt,
        })
        return
      }
      log.error('older published set refused', { set: place.location, reason: broken?.message })
    }
  }

  const load = async (): Promise<void> => {
    const current = await source.current()
    if (current === null) return
    if (current.location === served) {
      problem = null
      substitution = ''
      return
    }
    const broken = await serveSet(current)
    refused = { location: current.location, atMs: clock.monotonic() }
    if (broken === null) {
      problem = damagedText(damaged)
      substitution = ''
      if (problem !== null) log.error('damaged documents are not served', { reason: problem })
      log.info('serving', { documents: documents.size, computed_at: manifest?.computed_at })
      return
    }
    log.error('published set refused', { reason: broken.message })
    // Older sets are in the same store, which is unavailable after another error.
    if (manifest === null && broken instanceof BrokenSetError) await serveOlder(current)
    problem = `${broken.message}${substitution}`
  }

  /** Serial, since the slower of two concurrent loads could restore the older set. */
  const reload = (): Promise<void> => queue(load)

  const isDue = async (): Promise<boolean> => {
    const current = await source.current()
    if (current === null) return false
    if (current.location === served) return problem !== null
    const isKnownBad = refused !== null && refused.location === current.location
    return !isKnownBad || clock.monotonic() - (refused?.atMs ?? 0) >= RETRY_INTERVAL_MS
  }
  const reloadIfDue = async (): Promise<void> => {
    if (await isDue()) await reload()
  }

  return {
    get: (path) => documents.get(path),
    getFile: source.getFile,
    state: () => ({ manifest, problem, damaged }),
    reload,
    watch: (signal) => repeatEvery(WATCH_INTERVAL_MS, reloadIfDue, { clock, signal }),
  }
}

function damagedText(damaged: ReadonlyMap<string, string>): string | null {
  if (damaged.size === 0) return null
  const named = [...damaged.values()].sort().slice(0, MAX_NAMED).join(', ')
  return damaged.size > MAX_NAMED ? `${named} and ${damaged.size - MAX_NAMED} more` : named
}
