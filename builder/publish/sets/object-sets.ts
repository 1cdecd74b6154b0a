/** Publishes sets to an object store. The public directory of the builder is its working copy. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

import { sha256Hex } from '../../../src/auth/messages.ts'
import { mapConcurrent } from '../../../src/core/concurrency.ts'
import type { Clock, Log } from '../../../src/core/deps.ts'
import {
  CURRENT_LINK,
  MANIFEST_FILE,
  bodyKey,
  factsKey,
  immutable,
  manifestSchema,
} from '../../../src/core/documents.ts'
import { isoTime, minuteMs } from '../../../src/core/time.ts'
import { queueEntries } from '../../../src/db/log.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { addPublication, newestPublication } from '../../../src/db/publications.ts'
import type { Publication } from '../../../src/db/publications.ts'
import { readIfExists, replaceFile } from '../../../src/files/durable.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import { withTimeout } from '../../../src/outbound/timeout.ts'
import { readFitting } from '../files.ts'
import { lastFactsFile } from '../last-facts.ts'
import { loggedSnapshot } from '../log-snapshot.ts'
import { directoryOf, nameAndSwitch, takeAway } from '../publish.ts'
import type { RemoteSets } from '../publish.ts'
import { filesNamedIn } from '../published-generation.ts'
import { createStagingDirectory } from '../staging-directory.ts'
import { collectGarbage } from './garbage.ts'
import { movePointer, probeConditions, readPointer } from './pointer.ts'
import type { IfMatch } from './pointer.ts'

interface ObjectSetsDeps {
  readonly objects: ObjectStore
  /** Its writes store nothing after another builder has taken the lease. */
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  /** Of the lease of this builder. */
  readonly fence: number
  readonly publicDir: string
  readonly stateDir: string
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
  readonly beforeStep?: (step: string) => void
}

export type ObjectSets = ReturnType<typeof createObjectSets>

const PUBLISH_TIMEOUT_MS = 10 * minuteMs
const CALLS_AT_ONCE = 32
/** The files of a set beside its bodies. A small manifest has no compressed forms. */
const SET_FILES = ['.br', '.gz', '.sig', ''].map((suffix) => `${MANIFEST_FILE}${suffix}`)
const headers = { 'content-type': 'application/octet-stream', 'cache-control': immutable }

export function createObjectSets(deps: ObjectSetsDeps) {
  const { objects, database, fence, publicDir, clock, log, beforeStep: step } = deps
  let lastVersion: number | null = null
  let pointed = 0
  let probed: IfMatch | undefined

  async function conditions(): Promise<IfMatch> {
    if (probed !== undefined) return probed
    probed = await probeConditions(objects, `probe/${clock.now()}-${fence}`)
    if (probed === null) log.warn('the object store ignores conditions: it gets no current.json')
    return probed
  }

  async function upload(key: string, bytes: Uint8Array): Promise<void> {
    step?.(`upload ${key}`)
    await objects.put(key, bytes, headers)
  }

  /** @throws Error if another builder has published since `previous` */
  async function release(
    { directory, manifest, manifestBytes, past }: Parameters<RemoteSets['release']>[0],
    previous: Publication | null,
    facts: string,
  ): Promise<void> {
    const manifestSha256 = sha256Hex(manifestBytes)
    if (previous?.manifestSha256 === manifestSha256) return
    const { version } = manifest
    const location = `g/${fence}-${version}-${manifestSha256.slice(0, 12)}`
    const factsSha256 = sha256Hex(facts)
    const hasPointer = (await conditions()) === null ? 0 : 1
    const before = previous === null || past === null ? [] : [...filesNamedIn(past.manifest)]
    const intact = before.filter(({ file }) => past?.damaged.has(file) === false)
    const present = new Set(intact.map(bodyKey))
    // Bodies are uploaded even if the store has them: their new age protects them from garbage collection.
    const bodies = [...filesNamedIn(manifest)].filter((body) => !present.has(bodyKey(body)))
    await withTimeout({ timeoutMs: PUBLISH_TIMEOUT_MS }, async () => {
      await mapConcurrent(bodies, CALLS_AT_ONCE, async (body) => {
        const bytes = await readFile(join(directory, body.file))
        if (sha256Hex(bytes) !== body.sha256)
          throw new Error(`${body.file} has changed on the disk`)
        await upload(bodyKey(body), bytes)
      })
      if (previous?.factsSha256 !== factsSha256) {
        await upload(factsKey(factsSha256), await promisify(gzip)(facts))
      }
      for (const file of SET_FILES) {
        const bytes = await readIfExists(join(directory, file))
        if (bytes !== null) await upload(`${location}/${file}`, bytes)
      }
    })
    const publishedAt = isoTime(clock.now())
    const row = { version, fence, manifestSha256, location, factsSha256, publishedAt }
    step?.('record')
    await database.write(async (tx) => {
      await addPublication(tx, { ...row, hasPointer }, previous)
      await queueEntries(tx, [loggedSnapshot(manifestSha256, version)])
    })
  }

  async function restoreSet(
    workDir: string,
    { version, location, manifestSha256, publishedAt }: Publication,
  ): Promise<void> {
    const from = join(publicDir, CURRENT_LINK)
    const present = await readIfExists(join(from, MANIFEST_FILE))
    if (present !== null && sha256Hex(present) === manifestSha256) return
    const stored = await objects.get(`${location}/${MANIFEST_FILE}`)
    if (stored === null || sha256Hex(stored.bytes) !== manifestSha256) {
      throw new Error(`the manifest of version ${version} is missing or damaged`)
    }
    const manifest = manifestSchema.parse(JSON.parse(stored.bytes.toString()))
    const local = await readFitting(join(from, MANIFEST_FILE), manifestSchema)
    const files = local === null ? [] : [...filesNamedIn(local)]
    const hashes = new Map(files.map(({ file, sha256 }) => [file, sha256]))
    const recycle = () => Promise.resolve(null)
    const nowMs = Date.parse(publishedAt)
    const staging = createStagingDirectory(join(workDir, 'set'), { nowMs, recycle })
    const reused: string[] = []
    await mapConcurrent(filesNamedIn(manifest), CALLS_AT_ONCE, async (named) => {
      const { file } = named
      const isLocal = hashes.get(file) === named.sha256
      const body = isLocal ? null : await objects.get(bodyKey(named))
      if (isLocal) reused.push(file)
      else if (body !== null) await staging.write(file, body.bytes)
      // The next publication writes missing and damaged files again.
      else log.error('a body is missing in the object store', { file })
    })
    await staging.reuse({ files: reused, from, gone: [] })
    for (const file of SET_FILES) {
      const object = await objects.get(`${location}/${file}`)
      if (object !== null) await staging.write(file, object.bytes)
    }
    await staging.flush()
    const directory = directoryOf(publicDir, version)
    if (existsSync(directory)) await takeAway(directory, workDir)
    await nameAndSwitch(workDir, directory, { publicDir })
    log.info('restored the published set', { version })
  }

  return {
    objects,
    /** Replaces the facts if another builder has published. Call it before a build. */
    restoreFacts: async (): Promise<void> => {
      const newest = await newestPublication(database.reader)
      const file = lastFactsFile(deps.stateDir)
      const facts = (await readIfExists(file)) ?? ''
      if (newest === null || sha256Hex(facts) === newest.factsSha256) return
      const stored = await objects.get(factsKey(newest.factsSha256))
      if (stored === null) throw new Error(`the facts of version ${newest.version} are missing`)
      await replaceFile(file, await promisify(gunzip)(stored.bytes), 0o644)
    },
    remote: (factsText: () => string): RemoteSets => {
      let previous: Publication | null = null
      return {
        restore: async (workDir) => {
          previous = await newestPublication(database.reader)
          if (previous !== null) await restoreSet(workDir, previous)
          // Higher than the newest row only if the database has lost rows.
          lastVersion ??= (await readPointer(objects)).version
        },
        lastVersion: () => lastVersion ?? 0,
        release: (set) => release(set, previous, factsText()),
      }
    },
    /** Moves the pointer of the bucket to the newest set. */
    point: async (): Promise<void> => {
      const newest = await newestPublication(database.reader)
      const ifMatch = await conditions()
      if (newest === null || newest.version === pointed || ifMatch === null) return
      step?.('point')
      await movePointer(objects, ifMatch, newest)
      pointed = newest.version
    },
    /** Must not overlap with a publication of this process. */
    tidy: async (): Promise<void> =>
      await collectGarbage(objects, database).catch((error: unknown) =>
        log.warn('old objects are not deleted', { reason: String(error) }),
      ),
  }
}
