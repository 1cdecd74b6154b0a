import { createLastFacts, factsOf, nextFacts } from '../../../builder/archive/last-facts.ts'
/** Builders and replicas around one bucket and one database. */
import { asJson } from '../../../builder/documents/document.ts'
import { tryLeadership } from '../../../builder/jobs/leadership.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import { collectGarbage } from '../../../builder/publish/garbage.ts'
import { emptyMemory, publish } from '../../../builder/publish/publish.ts'
import type { PublishOutcome } from '../../../builder/publish/publish.ts'
import { createBucket } from '../../../builder/publish/store/bucket.ts'
import type { SetStore } from '../../../builder/publish/store/store.ts'
import type { Keys } from '../../../src/auth/service-keys.ts'
import { pathOf } from '../../../src/contract/routes.ts'
import type { Log } from '../../../src/core/deps.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { createDocumentStore } from '../../../src/http/document-store.ts'
import { createSetSource } from '../../../src/http/published-sets.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { publishDefaults, startMs, worldOf } from '../../builder/publish/set.ts'
import { quietLog } from '../quiet-log.ts'

export interface Builder {
  readonly fence: number
  readonly store: SetStore
  readonly publish: (
    documents: readonly PublicDocument[],
    nowMs?: number,
  ) => Promise<PublishOutcome>
  readonly tidy: () => Promise<void>
}

export interface BuilderOptions {
  readonly database: OpenDatabase
  readonly objects: ObjectStore
  readonly keys: Keys
  readonly beforeStep?: (step: string) => void
  readonly log?: Log
}

let holders = 0

/** Takes the lease, which the builder before has lost by now. */
export async function startBuilder({
  database,
  objects,
  keys,
  beforeStep,
  log = quietLog,
}: BuilderOptions): Promise<Builder> {
  await database.write((tx) => tx.updateTable('leases').set({ until: 0 }).execute())
  const leadership = await tryLeadership(database, `builder ${(holders += 1)}`)
  if (leadership === null) throw new Error('the lease is held')
  const { fence } = leadership.lease
  const step = beforeStep === undefined ? {} : { beforeStep }
  const store = createBucket({ objects, fence, log, ...step })
  const memory = emptyMemory()
  const lastFacts = createLastFacts()
  return {
    fence,
    store,
    publish: async (documents, nowMs = startMs) => {
      const next = nextFacts(await lastFacts.load(store, database.reader), factsOf(documents))
      return await publish({
        ...publishDefaults(keys),
        ...step,
        store,
        database: leadership.database,
        memory,
        nowMs,
        log,
        documents: withKeys(documents, keys),
        facts: lastFacts.stored(next),
      })
    },
    tidy: async () => await collectGarbage(store, leadership.database, leadership.check),
  }
}

function withKeys(documents: readonly PublicDocument[], { publicKeys }: Keys) {
  const path = pathOf('getSigningKeys')
  const body = { json: asJson(publicKeys), stamp: null }
  const contentType = 'application/json'
  return [...documents, { path, contentType, maxAgeSeconds: 60, body, archive: null }]
}

export function startReplica(database: OpenDatabase, objects: ObjectStore) {
  const source = createSetSource(objects, database.reader)
  const store = createDocumentStore({ source, clock: systemClock, log: quietLog })
  return { ...store, source }
}

/** A small world, of which each document except one contains the version. */
export function smallWorld(version: number): PublicDocument[] {
  return worldOf(version, 2)
}
