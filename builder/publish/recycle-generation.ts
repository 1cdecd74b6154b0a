/**
 * The oldest generation becomes the next one. It is a directory of links to files of which nearly all are in the current
 * generation too, so that only what changed since is unlinked, linked or written: a build costs what changed, and not a
 * link and an unlink for every file that exists.
 *
 * Which files those are this process knows of the generations that it made itself, as long as their directories bear the
 * marks that they bore then: a name that somebody added, took away or put elsewhere changes those of its directory, and
 * what stands in a file is checked where the current generation is read back. Without that knowledge every file is linked.
 */
import { rmdirSync, unlinkSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { isErrno } from '../../src/core/errno.ts'
import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { inSlices, syncDirectory } from './files.ts'

/** A generation as this process left it. */
interface MadeGeneration {
  /** Marks by directory, relative to the generation; `.` is its root. */
  readonly directories: ReadonlyMap<string, string>
  /** Files that are not those of the generation before it: new, written again, linked anew or gone. */
  readonly touched: ReadonlySet<string>
}

/** By number. It never outlives the process. */
export type MadeGenerations = Map<number, MadeGeneration>

/** What was the oldest generation, and is to be the next. */
export interface Reused {
  /** Files of the current generation that it lacks. */
  readonly lacking: ReadonlySet<string>
  /** Its directories, relative; some may hold nothing any more. */
  readonly directories: readonly string[]
}

interface ReuseOptions {
  readonly made: MadeGenerations
  /** Directory of a generation by its number. */
  readonly directoryOf: (generation: number) => string
  readonly oldest: number
  readonly current: number
  /** Where the next generation is made. */
  readonly root: string
  readonly beforeStep: ((step: string) => void) | undefined
}

/**
 * Moves the oldest generation to `root` and takes out of it what is not in the current one. Null, and nothing is done,
 * where this process does not know what tells the two apart.
 */
export async function recycleGeneration(options: ReuseOptions): Promise<Reused | null> {
  const { made, directoryOf, oldest, current, root, beforeStep: step } = options
  if (!isAsMade(directoryOf(current), made.get(current))) {
    // Nor are those before it what the next one is told apart from: somebody else has been at work.
    made.clear()
    return null
  }
  const old = made.get(oldest)
  const lacking = touchedBetween(made, oldest, current)
  if (old === undefined || lacking === null) return null
  if (!isAsMade(directoryOf(oldest), old)) return null
  step?.(`take generation ${oldest}`)
  await rename(directoryOf(oldest), root)
  // Before anything in it is another: no power cut may leave a changed directory under the name of a generation.
  await syncDirectory(dirname(root))
  made.delete(oldest)
  await inSlices(lacking, (file) => {
    step?.(`unlink ${file}`)
    unlinkIfThere(join(root, file))
  })
  return { lacking, directories: [...old.directories.keys()] }
}

/** Null where one of the generations in between is not known. */
function touchedBetween(
  made: MadeGenerations,
  oldest: number,
  current: number,
): ReadonlySet<string> | null {
  const touched = new Set<string>()
  for (let number = oldest + 1; number <= current; number += 1) {
    const generation = made.get(number)
    if (generation === undefined) return null
    for (const file of generation.touched) touched.add(file)
  }
  return touched
}

function isAsMade(directory: string, made: MadeGeneration | undefined): boolean {
  if (made === undefined) return false
  return [...made.directories].every(
    ([name, marks]) => statFingerprint(join(directory, name)) === marks,
  )
}

export function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

/** Removes those of the directories that no file lies in. Answers where a name is gone now. */
export function removeEmpty(
  root: string,
  directories: readonly string[],
  needed: ReadonlySet<string>,
): readonly string[] {
  const empty = directories
    .filter((name) => !needed.has(name))
    .sort((left, right) => right.length - left.length)
  for (const name of empty) rmdirSync(join(root, name))
  return empty.map((name) => dirname(name)).filter((name) => needed.has(name))
}

/** The directories of files, each with those above it; `.` is the root. */
export function directoriesOf(files: Iterable<string>): ReadonlySet<string> {
  const found = new Set(['.'])
  for (const file of files) {
    for (let at = dirname(file); !found.has(at); at = dirname(at)) found.add(at)
  }
  return found
}

/** Takes down a generation that was just made, when no name in it changes any more. */
export function rememberMade(
  made: MadeGenerations,
  generation: number,
  directory: string,
  contents: { readonly directories: Iterable<string>; readonly touched: ReadonlySet<string> },
): void {
  const marks = [...contents.directories].map(
    (name) => [name, statFingerprint(join(directory, name))] as const,
  )
  made.set(generation, { directories: new Map(marks), touched: contents.touched })
}
