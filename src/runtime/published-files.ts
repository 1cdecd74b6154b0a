import type { Config } from '../config.ts'
import type { Clock, Fetch } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'
import { filesBelow } from '../files/readable-files.ts'
import type { ReadableFiles } from '../files/readable-files.ts'
import { createObjectStore } from '../outbound/object-store.ts'

/** A start or a check waits this long for a store that does not answer. */
const patienceMs = 5 * secondMs

/** The bucket or the directory in which the builder publishes. */
export function publishedFiles(
  { bucket, PUBLIC_DIR }: Pick<Config, 'bucket' | 'PUBLIC_DIR'>,
  { fetch, clock }: { readonly fetch: Fetch; readonly clock: Clock },
): ReadableFiles {
  if (bucket === null) return filesBelow(PUBLIC_DIR)
  return createObjectStore(bucket, { fetch, clock, patienceMs })
}
