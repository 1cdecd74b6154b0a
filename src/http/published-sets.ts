/** Where the published sets lie: the one that is current, and those before it that are still kept. */
import { readdir, readlink, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { CURRENT_LINK, GENERATIONS_DIR, MANIFEST_FILE } from '../core/documents.ts'

export interface SetPlace {
  /** The generation by its own name, so that a switch while it is read cannot mix two sets. */
  readonly directory: string
  /** Relative to the public directory, as the link has it. */
  readonly name: string
  /** Tells one set from another, also where a name is used anew after the directory was emptied. */
  readonly mark: string
}

/** Null where there is no link to one. What it points to may be damaged, or not be there. */
export async function currentSet(publicDir: string): Promise<SetPlace | null> {
  const name = await readlink(join(publicDir, CURRENT_LINK)).catch(() => null)
  return name === null ? null : await placeOf(publicDir, name)
}

/** Generations are numbered as they are made. */
const NUMBER = /^\d{8,15}$/

/**
 * The sets that were published before `current`, the newest first; all there are where there is no link, which is how an
 * operator asks for everything to be published anew. One that was never switched to is as whole as its manifest says.
 */
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

/** One that has no number was put there by hand: whatever is numbered counts as older. */
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
