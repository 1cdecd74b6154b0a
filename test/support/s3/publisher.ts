/** Builders and replicas around one bucket and one database. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { onTestFinished } from 'vitest'

import { asJson } from '../../../builder/documents/document.ts'
import { tryLeadership } from '../../../builder/jobs/leadership.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import { factsOf, lastFactsFile, saveLastFacts } from '../../../builder/publish/last-facts.ts'
import { emptyMemory, publish } from '../../../builder/publish/publish.ts'
import type { PublishOutcome } from '../../../builder/publish/publish.ts'
import { createObjectSets } from '../../../builder/publish/sets/object-sets.ts'
import type { Keys } from '../../../src/auth/service-keys.ts'
import { pathOf } from '../../../src/contract/routes.ts'
import type { Log } from '../../../src/core/deps.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { createDocumentStore } from '../../../src/http/document-store.ts'
import { bucketSource } from '../../../src/http/published-sets.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { publishDefaults, startMs, worldOf } from '../../builder/publish/set.ts'
import { quietLog } from '../quiet-log.ts'

export interface Builder {
  readonly publicDir: string
  readonly stateDir: string
  readonly fence: number
  readonly sets: ReturnType<typeof createObjectSets>
  readonly publish: (
    documents: readonly PublicDocument[],
    nowMs?: number,
  ) => Promise<PublishOutcome>
}

export interface BuilderOptions {
  readonly database: OpenDatabase
  readonly objects: ObjectStore
  readonly keys: Keys
  /** Folder of an earlier builder on the same machine. */
  readonly root?: string
  readonly holder?: string
  readonly beforeStep?: (step: string) => void
  readonly log?: Log
}

let holders = 0

export function newMachine(): string {
  const root = mkdtempSync(join(tmpdir(), 'ledger-machine-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return root
}

/** Takes the lease, which the builder before has lost by now. */
export async function startBuilder({
  database,
  objects,
  keys,
  root = newMachine(),
  beforeStep,
  log = quietLog,
}: BuilderOptions): Promise<Builder> {
  await database.write((tx) => tx.updateTable('leases').set({ until: 0 }).execute())
  const leadership = await tryLeadership(database, `builder ${(holders += 1)}`)
  if (leadership === null) throw new Error('the lease is held')
  const publicDir = join(root, 'public')
  const stateDir = join(root, 'state')
  mkdirSync(stateDir, { recursive: true })
  const { fence } = leadership.lease
  const step = beforeStep === undefined ? {} : { beforeStep }
  const places = { objects, publicDir, stateDir, fence, clock: systemClock, log, ...step }
  const sets = createObjectSets({ ...places, database: leadership.database })
  const memory = emptyMemory()
  return {
    publicDir,
    stateDir,
    fence,
    sets,
    publish: async (documents, nowMs = startMs) => {
      await sets.restoreFacts()
      const options = {
        ...publishDefaults(publicDir, keys),
        leadership,
        memory,
        nowMs,
        log,
        ...step,
      }
      const last = { facts: factsOf(documents), diff: '', message: `at ${nowMs}` }
      const remote = sets.remote(() => JSON.stringify(last))
      const outcome = await publish({ ...options, documents: withKeys(documents, keys), remote })
      await sets.point()
      await saveLastFacts(lastFactsFile(stateDir), last)
      return outcome
    },
  }
}

function withKeys(documents: readonly PublicDocument[], { publicKeys }: Keys) {
  const path = pathOf('getSigningKeys')
  const body = { json: asJson(publicKeys), stamp: null }
  const contentType = 'application/json'
  return [...documents, { path, contentType, maxAgeSeconds: 60, body, archive: null }]
}

export function startReplica(database: OpenDatabase, objects: ObjectStore) {
  const source = bucketSource(objects, database.reader)
  const store = createDocumentStore({ source, clock: systemClock, log: quietLog })
  return { ...store, source }
}

/** A small world, of which each document except one contains the version. */
export function smallWorld(version: number): PublicDocument[] {
  return worldOf(version, 2)
}
