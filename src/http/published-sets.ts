import { readFile, readdir, readlink, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { CURRENT_LINK, GENERATIONS_DIR, MANIFEST_FILE, bodyKey } from '../core/documents.ts'
import { newestPublication } from '../db/publications.ts'
import type { Publication } from '../db/publications.ts'
import type { Db } from '../db/schema.ts'
import type { ObjectStore } from '../outbound/object-store.ts'

/** One published set. A switch to another set does not change what is read. */
export interface SetPlace {
  readonly name: string
  /** Identifies the set even if its name is reused. */
  readonly mark: string
  /** Bodies have a hash. @throws ObjectStoreError if the store is unavailable, Error */
  readonly read: (file: string, sha256?: string) => Promise<Buffer>
}

/** Where the builder publishes. */
export interface SetSource {
  /** Null if nothing is published. The set itself may be damaged or missing. */
  readonly current: () => Promise<SetPlace | null>
  /** Sets published before `current`, newest first; all sets if `current` is null. */
  readonly before: (current: SetPlace | null) => Promise<readonly SetPlace[]>
  /** What the operator should know of the source, or null. */
  readonly problem?: () => string | null
}

/** Sets in a bucket, of which the newest publication in the database is the current one. */
export function bucketSource(objects: Pick<ObjectStore, 'get'>, reader: Db): SetSource {
  let newest: Publication | null = null

  return {
    current: async () => {
      const found = await newestPublication(reader).catch(() => null)
      // A database that has lost rows, or is unavailable, never takes a reader back.
      if (found !== null && found.version > (newest?.version ?? 0)) newest = found
      return newest === null ? null : placeOf(newest)
    },
    before: () => Promise.resolve([]),
    problem: () =>
      newest?.hasPointer === 0
        ? 'the object store ignores conditions, so the bucket has no current.json'
        : null,
  }

  function placeOf({ location }: Publication): SetPlace {
    const read: SetPlace['read'] = async (file, sha256) => {
      const key = sha256 === undefined ? `${location}/${file}` : bodyKey({ file, sha256 })
      const object = await objects.get(key)
      if (object === null) throw new Error(`${key} is missing`)
      return object.bytes
    }
    return { name: location, mark: location, read }
  }
}

/** Sets in a directory, of which a link names the current one. */
export function directorySource(publicDir: string): SetSource {
  return {
    current: () => currentSet(publicDir),
    before: (current) => setsBefore(publicDir, current),
  }
}

/** Returns null if there is no link. The set itself may be damaged or missing. */
async function currentSet(publicDir: string): Promise<SetPlace | null> {
  const name = await readlink(join(publicDir, CURRENT_LINK)).catch(() => null)
  return name === null ? null : await placeOf(publicDir, name)
}

const NUMBER = /^\d{8,15}$/

/** Sets published before `current`, newest first; all sets if `current` is null. */
async function setsBefore(
  publicDir: string,
  current: Pick<SetPlace, 'name'> | null,
): Promise<readonly SetPlace[]> {
  const names = await readdir(join(publicDir, GENERATIONS_DIR)).catch((): string[] => [])
  const end = current === null ? Number.POSITIVE_INFINITY : numberOf(current.name)
  const older = names
    .filter((name) => NUMBER.test(name) && Number(name) < end)
    .toSorted((left, right) => Number(right) - Number(left))
  return await Promise.all(older.map((name) => placeOf(publicDir, `${GENERATIONS_DIR}/${name}`)))
}

/** Numbered sets count as older than one without a number. */
function numberOf(name: string): number {
  const last = name.slice(name.lastIndexOf('/') + 1)
  return NUMBER.test(last) ? Number(last) : Number.POSITIVE_INFINITY
}

async function placeOf(publicDir: string, name: string): Promise<SetPlace> {
  // Resolved, so that a switch during a read cannot mix two sets.
  const directory = resolve(publicDir, name)
  const found = await stat(join(directory, MANIFEST_FILE)).catch(() => null)
  const facts = found === null ? 'no manifest' : `${found.ino} ${found.mtimeMs} ${found.size}`
  return { name, mark: `${name} ${facts}`, read: (file) => readFile(join(directory, file)) }
}
