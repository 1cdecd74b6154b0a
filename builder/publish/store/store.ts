/** Where sets, evidence and log are published: a directory or a bucket, with the layout in `src/core/documents.ts`. */
import { bodyKey, filesNamedIn } from '../../../src/core/documents.ts'
import type { Manifest, ManifestEntry, NamedFile } from '../../../src/core/documents.ts'
import type { Publication } from '../../../src/db/publications.ts'
import type { ReadableFiles } from '../../../src/files/readable-files.ts'
import { memoizeEach } from '../../cache/memoize.ts'

export type Put = (key: string, bytes: Uint8Array) => Promise<void>
type Headers = Readonly<Record<string, string>>

export interface PublicFiles extends ReadableFiles {
  /** Times of the last change by key, in Unix milliseconds. Names start with `dir`, which ends with a slash. */
  readonly list: (dir: string) => Promise<ReadonlyMap<string, number>>
  /** On return, the file is durable. */
  readonly put: (key: string, bytes: Uint8Array, headers: Headers) => Promise<unknown>
  readonly remove: (key: string) => Promise<void>
}

/** Files by key that were found intact, each with what differs if it is written again. */
export type CheckedFiles = Map<string, string>

export interface StoredFile extends Pick<NamedFile, 'sha256' | 'size'> {
  readonly key: string
}

/** The same objects for the same entry, which is in every set until its document changes. */
export const filesOfEntry = memoizeEach(
  (entry: ManifestEntry): readonly (NamedFile & StoredFile)[] =>
    [...filesNamedIn({ documents: [entry] })].map((file) => ({ ...file, key: bodyKey(file) })),
)

export interface SetStore extends PublicFiles {
  /** Writes many files, which are durable and can be read on return; none of them has its name if the work fails. */
  readonly batch: <Result>(work: (put: Put) => Promise<Result>) => Promise<Result>
  /** Returns the keys of files that are missing or differ. */
  readonly damaged: (
    files: readonly StoredFile[],
    checked: CheckedFiles,
  ) => Promise<ReadonlySet<string>>
  /** False if readers without the database cannot be shown the current set. */
  readonly canShow: () => Promise<boolean>
  /**
   * Makes the set visible to readers without the database, unless they see it or a newer one.
   * @param options `anew`: the visible set may be damaged
   */
  readonly show: (
    publication: Publication,
    manifest: Manifest,
    options: { readonly anew: boolean },
  ) => Promise<void>
  /** Sets that are kept for readers. */
  readonly keeps: Keeps
  /** The fencing token of this builder's lease. */
  readonly fence: number
}

interface Keeps {
  /** The newest ones, however old. */
  readonly sets: number
  /** Older ones too, if they are at most this much older than the newest one. */
  readonly ageMs: number
  /** Maximum difference between the clocks of the store. */
  readonly marginMs: number
}
