/** Requests builds through a row of the database, for builders that are not a child process of the service. */
import type { Clock, Log, Random } from '../core/deps.ts'
import { redact } from '../core/redact.ts'
import { getMeta, setMeta } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'

const requestedKey = 'build_requested'
const debounceMs = 250

/** A request may be lost in a crash, since the builder also builds after the jobs that it runs every minute. */
export function createBuildRequests(deps: {
  readonly database: Pick<OpenDatabase, 'write'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  readonly log: Log
}): () => void {
  const { database, clock, random, log } = deps
  let isRequested = false
  async function send(): Promise<void> {
    await clock.sleep(debounceMs)
    // This request does not cover writes that commit from here on.
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

/** Builds if a service has requested it since the last call. Queries an unavailable database again at the next call. */
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
