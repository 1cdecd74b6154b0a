/** A public directory and its database, which names the current set. */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

import { publish } from '../../builder/publish/publish.ts'
import type {
  PublishedFacts,
  PublishOptions,
  PublishOutcome,
} from '../../builder/publish/publish.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import { openDatabase } from '../../src/db/open.ts'
import { filesBelow } from '../../src/files/readable-files.ts'
import { createSetSource } from '../../src/http/published-sets.ts'
import { writeEmptyDatabase } from './new-database.ts'

export const noFacts: PublishedFacts = {
  sha256: '0'.repeat(64),
  bytes: new Uint8Array(),
}

/** The database is next to the directory, so that other processes find it. */
export async function publishedDirectory(publicDir: string) {
  mkdirSync(dirname(publicDir), { recursive: true })
  const path = `${publicDir}.db`
  if (!existsSync(path)) await writeEmptyDatabase(path)
  const database = await openDatabase({ url: path })
  const startStore = (step: Pick<PublishOptions, 'beforeStep'> = {}) =>
    createDirectory({ publicDir, fence: 1, check: () => Promise.resolve(), ...step })
  const store = startStore()
  return {
    database,
    source: createSetSource(filesBelow(publicDir), database.reader),
    /** Of a builder that has just started. */
    startStore,
    /** Publishes as a builder without a memory. */
    publish: async (
      options: Omit<PublishOptions, 'store' | 'database' | 'facts'> & Partial<PublishOptions>,
    ): Promise<PublishOutcome> => {
      const { beforeStep } = options
      const own = beforeStep === undefined ? store : startStore({ beforeStep })
      return await publish({ store: own, database, facts: noFacts, ...options })
    },
    close: database.close,
  }
}
