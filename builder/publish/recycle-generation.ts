/** Starts the next generation from the oldest one, so that a build writes only changes and not a link per file. */
import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { syncFile } from '../../src/files/durable.ts'
import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { inSlices, unlinkIfExists } from './files.ts'

interface GenerationRecord {
  /** Fingerprints by directory, relative to the generation; `.` is its root. */
  readonly directories: ReadonlyMap<string, string>
  /** Files that differ from the generation before, removed ones included. */
  readonly touched: ReadonlySet<string>
}

export type GenerationRecords = Map<number, GenerationRecord>

export type RecycledGeneration = Awaited<ReturnType<typeof recycleGeneration>>

export interface StagedFiles {
  readonly directories: ReadonlySet<string>
  /** Files that were linked or written; null for all files. */
  readonly renewed: ReadonlySet<string> | null
  /** Files that differ from the generation before, removed ones included; null where links were copied. */
  readonly touched: ReadonlySet<string> | null
}

/** Moves the oldest generation to `root`. Returns null, without a change, when the difference is unknown. */
export async function recycleGeneration(options: {
  readonly records: GenerationRecords
  readonly directoryOf: (generation: number) => string
  readonly oldest: number
  readonly current: number
  readonly root: string
  readonly beforeStep: ((step: string) => void) | undefined
}) {
  const { records, directoryOf, oldest, current, root, beforeStep: step } = options
  if (!isUnchanged(directoryOf(current), records.get(current))) {
    // Another process has published, so older generations are also unknown.
    records.clear()
    return null
  }
  const old = records.get(oldest)
  const lacking = touchedBetween(records, oldest, current)
  if (old === undefined || lacking === null || !isUnchanged(directoryOf(oldest), old)) return null
  step?.(`take generation ${oldest}`)
  await rename(directoryOf(oldest), root)
  // Flushed before any change, since a power cut must not leave a changed directory with the name of a generation.
  await syncFile(dirname(directoryOf(oldest)))
  records.delete(oldest)
  await inSlices(lacking, (file) => {
    step?.(`unlink ${file}`)
    unlinkIfExists(join(root, file))
  })
  return { lacking, directories: [...old.directories.keys()] }
}

function touchedBetween(
  records: GenerationRecords,
  oldest: number,
  current: number,
): ReadonlySet<string> | null {
  const touched = new Set<string>()
  for (let number = oldest + 1; number <= current; number += 1) {
    const generation = records.get(number)
    if (generation === undefined) return null
    for (const file of generation.touched) touched.add(file)
  }
  return touched
}

function isUnchanged(directory: string, record: GenerationRecord | undefined): boolean {
  if (record === undefined) return false
  return [...record.directories].every(
    ([name, fingerprint]) => statFingerprint(join(directory, name)) === fingerprint,
  )
}

/** Call after the last change of a file name in the generation. */
export function recordGeneration(
  records: GenerationRecords,
  generation: number,
  directory: string,
  { directories, touched }: Pick<StagedFiles, 'directories' | 'touched'>,
): void {
  if (touched === null) {
    records.clear()
    return
  }
  const fingerprints = [...directories].map(
    (name) => [name, statFingerprint(join(directory, name))] as const,
  )
  records.set(generation, { directories: new Map(fingerprints), touched })
}
