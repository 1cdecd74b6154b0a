/** Requests of builds through a row of the database, for builders that are no child of the service. */
import type { Clock, Log, Random } from '../core/deps.ts'
import { redact } from '../core/redact.ts'
import { getMeta, setMeta } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'

const requestedKey = 'build_requested'
const debounceMs = 250

/** A request that is lost with a crash changes nothing: the builder also builds after its jobs of every minute. */
export function createBuildRequests({
  database,
  clock,
  random,
  log,
}: {
  readonly database: Pick<OpenDatabase, 'write'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  readonly log: Log
}): () => void {
  let isRequested = false
  async function send(): Promise<void> {
    await clock.sleep(debounceMs)
    // A write that commits from here on is not covered by this request.
    isRequested = false
    const mark = Buffer.from(random.bytes(8)).toString('hex')
    await database.write((tx) => setMeta(tx, requestedKey, mark), [requestedKey])
  }
  return () => {
    if (isRequested) return
    isRequested = true
    void send().catch((error: unknown) => {
      log.warn('a build could not be requested', { reason: redact(String(error)) })
    })
  }
}

/** Builds if a service has requested it since the last call. An unavailable database is asked again. */
export function createBuildRequestWatch(
  { reader }: Pick<OpenDatabase, 'reader'>,
  build: () => Promise<unknown>,
): () => Promise<void> {
  let seen: string | null = null
  return async () => {
    const mark = await getMeta(reader, requestedKey).catch(() => seen)
    if (mark === seen) return
    seen = mark
    await build()
  }
}
