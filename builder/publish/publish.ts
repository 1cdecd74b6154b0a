/** Publishes documents as one set: new bodies, the manifest, and a row of `publications` that makes it the current one. */
import { sha256Hex } from '../../src/auth/messages.ts'
import type { KeyRing, Signer } from '../../src/auth/service-keys.ts'
import type { Log } from '../../src/core/deps.ts'
import {
  MANIFEST_CONTENT_TYPE,
  MANIFEST_FILE,
  MANIFEST_SIGNATURE_FILE,
  encodedFile,
  factsKey,
  formatManifestSignature,
} from '../../src/core/documents.ts'
import type { Manifest } from '../../src/core/documents.ts'
import { isoTime } from '../../src/core/time.ts'
import { queueEntries } from '../../src/db/log.ts'
import type { QueuedEntry } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { addPublication, latestPublications } from '../../src/db/publications.ts'
import type { Publication } from '../../src/db/publications.ts'
import { readAssets } from './assets.ts'
import type { KnownAssets } from './assets.ts'
import { compress } from './compress.ts'
import type { PublicDocument } from './document.ts'
import { describeSet, readPastSet } from './past-set.ts'
import type { PastMemory, ReadSet } from './past-set.ts'
import { draftPlan, manifestBytes } from './plan.ts'
import type { RenderCache } from './plan.ts'
import type { Put, SetStore } from './store/store.ts'

const MAX_LOGGED = 20
/** Maximum number of sets that are searched for a readable one. */
const MAX_PAST_SETS = 64
/** More sets than are published between two backups. */
const LOST_SETS = 1000
/** Higher levels take longer and do not make hashes and signatures smaller. */
const MANIFEST_LEVELS = { brotli: 1, gzip: 1 }

export interface PublishMemory {
  readonly rendered: RenderCache
  readonly past: PastMemory
  readonly assets: KnownAssets
}

export function emptyMemory(): PublishMemory {
  const past = { checked: new Map(), last: null, stored: null }
  const rendered = { revisions: new Map(), bodies: new WeakMap() }
  return { rendered, past, assets: new Map() }
}

export interface PublishOptions {
  readonly store: SetStore
  /** Its writes store nothing after another builder has taken the lease. */
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  readonly documents: readonly PublicDocument[]
  readonly facts: PublishedFacts
  readonly siteUrl: string
  /** Allows the set to change its `siteUrl`. */
  readonly move?: boolean
  readonly assetsDir: string | null
  /** The next version is higher. Absent: 0. */
  readonly lastVersion?: number
  readonly signer: Signer
  readonly ring: KeyRing
  /** Absent: everything is read and rendered again. */
  readonly memory?: PublishMemory
  /** The time of change for all changed documents. */
  readonly nowMs: number
  readonly log: Log
  readonly beforeStep?: (step: string) => void
}

export interface PublishedFacts {
  readonly sha256: string
  readonly bytes: Uint8Array
}

export interface PublishOutcome {
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  readonly manifest: Manifest
}

export class OtherSiteError extends Error {
  override readonly name = 'OtherSiteError'
}

/**
 * Writes nothing when nothing changed. A set without a row is garbage, and rows are written under the lease: then a builder
 * that was killed or paused changes nothing that readers see.
 * @throws OtherSiteError for a set of another `siteUrl` unless `move`; LeaseLostError
 */
export async function publish(options: PublishOptions): Promise<PublishOutcome> {
  const { store, database, log, memory = emptyMemory() } = options
  const publications = await latestPublications(database.reader, MAX_PAST_SETS)
  const [newest = null] = publications
  const isFull = memory.past.last === null
  const past = await readPastSet(store, publications, { ...options, memory: memory.past })
  if (past !== null && isOtherSite(past.manifest, options)) {
    throw new OtherSiteError(
      `The published set belongs to ${past.manifest.site_url}, but SITE_URL is ${options.siteUrl}. ` +
        'Correct SITE_URL, or run the builder with --once --move to move the set to the new address.',
    )
  }
  const assets =
    options.assetsDir === null ? [] : await readAssets(options.assetsDir, memory.assets)
  const documents = [...options.documents, ...assets]
  const stored = memory.past.stored?.[0]?.version ?? 0
  const version = nextVersion(newest, stored, options.lastVersion ?? 0)
  const previous = newest?.manifestSha256 ?? null
  const hasPointer = (await store.canShow()) ? 1 : 0
  const isIntact = past?.isNewest === true && past.damaged.size === 0
  const { plan, written } = await store.batch(async (put) => {
    const drafting = { ...options, rendered: memory.rendered, version, previous, put }
    const plan = await draftPlan(documents, past, drafting)
    if (plan.manifest === past?.manifest) return { plan, written: null }
    const hasFacts = isIntact && newest?.factsSha256 === options.facts.sha256
    return { plan, written: await writeManifest(plan.manifest, put, { ...options, hasFacts }) }
  })
  const { changed, removed, repaired, unchanged, manifest } = plan
  const outcome = { changed, removed, unchanged, manifest }
  const anew = isFull || !isIntact
  if (written === null) {
    if (newest !== null) await store.show(newest, manifest, { anew })
    return outcome
  }
  if (past !== null && past.damaged.size > 0) {
    log.error('the files of published documents were damaged and are written again', {
      files: [...past.damaged].slice(0, MAX_LOGGED).join(', '),
      documents: repaired.length,
    })
  }
  if (past !== null && !past.isOurs)
    log.warn('the last set was signed with another key: signing all documents again')
  const { bytes, signature, ...place } = written
  const publication = { ...place, hasPointer } as const
  options.beforeStep?.('record')
  // Listed again if the answer of the database is lost.
  memory.past.stored = null
  await database.write(async (tx) => {
    await addPublication(tx, publication, newest)
    await queueEntries(tx, [snapshotEntry(publication.manifestSha256, version)])
  })
  memory.past.stored = [{ version, location: publication.location }]
  memory.past.last = describeSet(publication, manifest, bytes, signature)
  await store.show(publication, manifest, { anew })
  const counts = { changed: changed.length, removed: removed.length, unchanged }
  log.info('published', { version, ...counts })
  return outcome
}

/** A set of a loopback address was published for trial only. */
function isOtherSite(
  { site_url: published }: Manifest,
  { siteUrl, move }: PublishOptions,
): boolean {
  return published !== siteUrl && move !== true && !loopback.test(new URL(published).hostname)
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/**
 * Higher than any version that readers may have seen. One version is skipped if the newest set that they saw may differ from
 * the one in the database, so that they do not compare it with `previous`. Many are skipped if the store lacks the newest
 * set, since the database may then be an old backup.
 */
function nextVersion(newest: Publication | null, stored: number, logged: number): number {
  const recorded = newest?.version ?? 0
  const known = Math.max(recorded, logged)
  if (stored < known) return known + LOST_SETS
  return stored > recorded ? stored + 2 : stored + 1
}

export function snapshotEntry(sha256: string, version: number): QueuedEntry {
  return { kind: 'snapshot', id: sha256, sha256, subject: 'snapshot', extra: { version } }
}

async function writeManifest(
  manifest: Manifest,
  put: Put,
  { store, facts, hasFacts, signer, nowMs }: PublishOptions & { readonly hasFacts: boolean },
): Promise<Omit<Publication, 'hasPointer'> & Pick<ReadSet, 'bytes' | 'signature'>> {
  const { version } = manifest
  const bytes = manifestBytes(manifest)
  const manifestSha256 = sha256Hex(bytes)
  const location = `g/${store.fence}-${version}-${manifestSha256.slice(0, 12)}`
  const signed = Buffer.from(signer.sign(bytes)).toString('base64')
  const signature = Buffer.from(formatManifestSignature(signed, signer.kid), 'utf8')
  for (const form of await compress(bytes, MANIFEST_CONTENT_TYPE, MANIFEST_LEVELS)) {
    await put(`${location}/${encodedFile(MANIFEST_FILE, form.encoding)}`, form.bytes)
  }
  await put(`${location}/${MANIFEST_SIGNATURE_FILE}`, signature)
  await put(`${location}/${MANIFEST_FILE}`, bytes)
  if (!hasFacts) await put(factsKey(facts.sha256), facts.bytes)
  return {
    version,
    fence: store.fence,
    manifestSha256,
    location,
    factsSha256: facts.sha256,
    publishedAt: isoTime(nowMs),
    bytes,
    signature,
  }
}
