/**
 * Deletes old sets, and bodies that no kept set names. A set uploads each body that its predecessor does not name. So
 * a body that is older than the oldest kept set, and not named by it, is named by no kept set. All ages are
 * differences on the clock of the store.
 */
import { mapConcurrent } from '../../../src/core/concurrency.ts'
import { MANIFEST_FILE, bodyKey, factsKey, manifestSchema } from '../../../src/core/documents.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { latestPublications } from '../../../src/db/publications.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import { filesNamedIn } from '../published-generation.ts'

/** A set is kept if it is one of the newest ones, or young. */
const KEPT_SETS = 64
const KEPT_MS = 2 * dayMs
/** Younger objects may belong to a publication in progress. */
const PROTECTED_MS = dayMs
const CALLS_AT_ONCE = 32
const KEYS_PER_CHECK = 1000

/** Each write checks the lease of the builder. */
export async function collectGarbage(
  objects: ObjectStore,
  { reader, write }: Pick<OpenDatabase, 'reader' | 'write'>,
): Promise<void> {
  const publications = await latestPublications(reader, Number.MAX_SAFE_INTEGER)
  const sets = await objects.list('g/')
  const timeOf = (location = '') => sets.get(`${location}/${MANIFEST_FILE}`) ?? 0
  const newestMs = timeOf(publications[0]?.location)
  const kept = publications.filter(
    ({ location }, at) => at < KEPT_SETS || timeOf(location) > newestMs - KEPT_MS,
  )
  const oldest = kept.at(-1)
  const manifest = await objects.get(`${oldest?.location}/${MANIFEST_FILE}`)
  if (oldest === undefined || manifest === null) return
  const named = [...filesNamedIn(manifestSchema.parse(JSON.parse(manifest.bytes.toString())))]
  const untilMs = newestMs - PROTECTED_MS
  const bodiesUntilMs = Math.min(untilMs, timeOf(oldest.location) - hourMs)
  const needed = new Set([
    ...named.map(bodyKey),
    ...kept.map(({ factsSha256 }) => factsKey(factsSha256)),
  ])
  const locations = new Set(kept.map(({ location }) => location))
  const garbage = [
    ...[...sets].filter(([key]) => !locations.has(key.slice(0, key.lastIndexOf('/')))),
    ...[...(await objects.list('o/'))].filter(([, changedMs]) => changedMs < bodiesUntilMs),
    ...(await objects.list('facts/')),
    ...(await objects.list('probe/')),
  ].filter(([key, changedMs]) => changedMs < untilMs && !needed.has(key))
  for (let at = 0; at < garbage.length; at += KEYS_PER_CHECK) {
    await write((tx) =>
      tx.deleteFrom('publications').where('version', '<', oldest.version).execute(),
    )
    const keys = garbage.slice(at, at + KEYS_PER_CHECK)
    await mapConcurrent(keys, CALLS_AT_ONCE, ([key]) => objects.remove(key))
  }
}
