/** Starts the next generation from the oldest one, so that a build costs what changed, not a link per file. */
import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { inSlices, syncDirectory, unlinkIfExists } from './files.ts'

interface MadeGeneration {
  /** By directory relative to the generation; `.` is its root. */
  readonly directories: ReadonlyMap<string, string>
  /** Files that differ from the generation before, removed ones included. */
  readonly touched: ReadonlySet<string>
}

export type MadeGenerations = Map<number, MadeGeneration>

export interface RecycledGeneration {
  readonly lacking: ReadonlySet<string>
  readonly directories: readonly string[]
}

/** Moves the oldest generation to `root`. Null, and nothing changes, when the difference is unknown. */
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
    // Another process has published: older generations are unknown too.
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

/** Call when no name in the generation changes any more. */
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
