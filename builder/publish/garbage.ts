/**
 * Deletes old sets, and bodies that no kept set names. A publication writes each body that its predecessor does not name.
 * A body that is older than the oldest kept set and not named by it is therefore named by no kept set. All ages are
 * measured by the clock of the store.
 */
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { MANIFEST_FILE, factsKey } from '../../src/core/documents.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { latestPublications } from '../../src/db/publications.ts'
import { readSet } from './past-set.ts'
import type { SetStore } from './store/store.ts'

const CALLS_AT_ONCE = 32
const KEYS_PER_CHECK = 100
const NEWEST_READ = 3

/** Must not overlap with a publication of this process. */
export async function collectGarbage(
  store: SetStore,
  { reader, write }: Pick<OpenDatabase, 'reader' | 'write'>,
  /** @throws LeaseLostError */
  check: () => Promise<void>,
): Promise<void> {
  const sets = await store.list('g/')
  const timeOf = (location = '') => sets.get(`${location}/${MANIFEST_FILE}`)
  const publications = (await latestPublications(reader, Number.MAX_SAFE_INTEGER)).filter(
    ({ location }) => timeOf(location) !== undefined,
  )
  const { keeps } = store
  const newestMs = timeOf(publications[0]?.location) ?? 0
  const kept = publications.filter(
    ({ location }, at) => at < keeps.sets || (timeOf(location) ?? 0) > newestMs - keeps.ageMs,
  )
  const oldest = kept.at(-1)
  if (oldest === undefined) return
  const needed = new Set(kept.map(({ factsSha256 }) => factsKey(factsSha256)))
  // The newest ones too, since the clock of a directory may have been set back.
  for (const publication of new Set([oldest, ...kept.slice(0, NEWEST_READ)])) {
    const set = await readSet(store, publication)
    // A damaged manifest of an old set is soon no longer kept.
    if (set === null) return
    for (const { key } of set.files) needed.add(key)
  }
  const untilMs = newestMs - keeps.marginMs
  const bodiesUntilMs = (timeOf(oldest.location) ?? 0) - keeps.marginMs
  const locations = new Set(kept.map(({ location }) => location))
  const garbage = [
    ...[...sets].filter(([key]) => !locations.has(key.slice(0, key.lastIndexOf('/')))),
    ...[...(await store.list('o/'))].filter(([, changedMs]) => changedMs < bodiesUntilMs),
    ...(await store.list('facts/')),
    ...(await store.list('probe/')),
  ].filter(([key, changedMs]) => changedMs < untilMs && !needed.has(key))
  for (let at = 0; at < garbage.length; at += KEYS_PER_CHECK) {
    await check()
    const keys = garbage.slice(at, at + KEYS_PER_CHECK)
    await mapConcurrent(keys, CALLS_AT_ONCE, ([key]) => store.remove(key))
  }
  // Last, since a full disk accepts writes only after files were removed.
  await write((tx) => tx.deleteFrom('publications').where('version', '<', oldest.version).execute())
}
