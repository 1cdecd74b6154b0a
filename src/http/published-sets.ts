import { readdir, readlink, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { CURRENT_LINK, GENERATIONS_DIR, MANIFEST_FILE } from '../core/documents.ts'

export interface SetPlace {
  /** Resolved directory of the generation, so that a switch during a read cannot mix two sets. */
  readonly directory: string
  readonly name: string
  /** Identifies the set even if its name is reused. */
  readonly mark: string
}

/** Returns null if there is no link. The set itself may be damaged or missing. */
export async function currentSet(publicDir: string): Promise<SetPlace | null> {
  const name = await readlink(join(publicDir, CURRENT_LINK)).catch(() => null)
  return name === null ? null : await placeOf(publicDir, name)
}

const NUMBER = /^\d{8,15}$/

/** Sets published before `current`, newest first; all sets if `current` is null. */
export async function setsBefore(
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
  const directory = resolve(publicDir, name)
  const found = await stat(join(directory, MANIFEST_FILE)).catch(() => null)
  const facts = found === null ? 'no manifest' : `${found.ino} ${found.mtimeMs} ${found.size}`
  return { directory, name, mark: `${name} ${facts}` }
}
