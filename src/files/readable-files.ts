import { join } from 'node:path'

import { readIfExists } from './durable.ts'

/** Where published files are read: a directory or a bucket. */
export interface ReadableFiles {
  /** Null for a missing file. */
  readonly get: (key: string) => Promise<{ readonly bytes: Buffer } | null>
}

export function filesBelow(directory: string): ReadableFiles {
  return {
    get: async (key) => {
      const bytes = await readIfExists(join(directory, key))
      return bytes === null ? null : { bytes }
    },
  }
}
