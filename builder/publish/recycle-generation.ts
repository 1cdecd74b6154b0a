/**
 * Makes the oldest generation the beginning of the next one. Nearly all of its links are those that the next one needs,
 * so a build costs what changed, not a link and an unlink for every file.
 *
 * It needs to know which files differ: this process knows that of the generations that it made itself, as long as the
 * fingerprints of their directories are unchanged. Without that knowledge every file is linked anew.
 */
import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { inSlices, syncDirectory, unlinkIfExists } from './files.ts'

/** A generation as this process left it. */
interface MadeGeneration {
  /** Fingerprints by directory, relative to the generation; `.` is its root. */
  readonly directories: ReadonlyMap<string, string>
  /** Files that differ from the generation before: new, rewritten, linked anew or gone. */
  readonly touched: ReadonlySet<string>
}

/** By number of the generation. */
export type MadeGenerations = Map<number, MadeGeneration>

export interface RecycledGeneration {
  /** Files of the current generation that it lacks. */
  readonly lacking: ReadonlySet<string>
  /** Its directories, relative; some may be empty. */
  readonly directories: readonly string[]
}

/**
 * Moves the oldest generation to `root` and removes what differs from the current one. Returns null, and changes
 * nothing, when the difference is not known.
 */
export async function recycleGeneration({
  made,
  directoryOf,
  oldest,
  current,
  root,
  beforeStep: step,
}: {
  readonly made: MadeGenerations
  readonly directoryOf: (generation: number) => string
  readonly oldest: number
  readonly current: number
  readonly root: string
  readonly beforeStep: ((step: string) => void) | undefined
}): Promise<RecycledGeneration | null> {
  if (!isAsMade(directoryOf(current), made.get(current))) {
    // Another process has been at work: nothing is known of older generations either.
    made.clear()
    return null
  }
  const old = made.get(oldest)
  const lacking = touchedBetween(made, oldest, current)
  if (old === undefined || lacking === null || !isAsMade(directoryOf(oldest), old)) return null
  step?.(`take generation ${oldest}`)
  await rename(directoryOf(oldest), root)
  // Before any change: a power cut must not leave a changed directory under the name of a generation.
  await syncDirectory(dirname(root))
  made.delete(oldest)
  await inSlices(lacking, (file) => {
    step?.(`unlink ${file}`)
    unlinkIfExists(join(root, file))
  })
  return { lacking, directories: [...old.directories.keys()] }
}

/** Null when one of the generations after `oldest` is not known. */
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
    ([name, fingerprint]) => statFingerprint(join(directory, name)) === fingerprint,
  )
}

/** Records a generation when no name in it changes any more. */
export function rememberMade(
  made: MadeGenerations,
  generation: number,
  directory: string,
  contents: { readonly directories: Iterable<string>; readonly touched: ReadonlySet<string> },
): void {
  const fingerprints = [...contents.directories].map(
    (name) => [name, statFingerprint(join(directory, name))] as const,
  )
  made.set(generation, { directories: new Map(fingerprints), touched: contents.touched })
}
