import { bodyKey } from '../core/documents.ts'
import { latestPublications, newestPublication } from '../db/publications.ts'
import type { Publication } from '../db/publications.ts'
import type { Db } from '../db/schema.ts'
import type { ReadableFiles } from '../files/readable-files.ts'

/** One published set. Reads are not affected by the publication of another set. */
export interface SetPlace {
  /** Unique name of the set. */
  readonly location: string
  readonly version: number
  /** Bodies have a hash. @throws ObjectStoreError if the store is unavailable, Error */
  readonly read: (file: string, sha256?: string) => Promise<Buffer>
}

/** Where the builder publishes. */
export interface SetSource {
  /** Null if nothing is published. The files of the set may be damaged or missing. */
  readonly current: () => Promise<SetPlace | null>
  /** The last sets that were published before this one, newest first. */
  readonly before: (current: SetPlace) => Promise<readonly SetPlace[]>
  /** A file that belongs to no set. */
  readonly getFile: ReadableFiles['get']
  /** A problem of the source for the operator, or null. */
  readonly problem: () => string | null
}

/** Bounds the time of a search for a document or an intact set. */
const MAX_OLDER_SETS = 3

/** The newest publication in the database is the current set. */
export function createSetSource(files: ReadableFiles, reader: Db): SetSource {
  let newest: Publication | null = null

  return {
    current: async () => {
      const found = await newestPublication(reader).catch(() => null)
      // A database that has lost rows, or is unavailable, never returns a reader to an older set.
      if (found !== null && found.version > (newest?.version ?? 0)) newest = found
      return newest === null ? null : placeOf(newest)
    },
    before: async ({ version }) => {
      const publications = await latestPublications(reader, MAX_OLDER_SETS + 1)
      return publications.filter((one) => one.version < version).map(placeOf)
    },
    getFile: files.get,
    problem: () =>
      newest?.hasPointer === 0
        ? 'the object store ignores conditions, so the bucket has no current.json'
        : null,
  }

  function placeOf({ location, version }: Publication): SetPlace {
    const read: SetPlace['read'] = async (file, sha256) => {
      const key = sha256 === undefined ? `${location}/${file}` : bodyKey({ file, sha256 })
      const found = await files.get(key)
      if (found === null) throw new Error(`${key} is missing`)
      return found.bytes
    }
    return { location, version, read }
  }
}
