/** Publishes documents as one generation: hard links to unchanged files, new files, and one rename of `current`. */
import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'

import type { KeyRing, Signer } from '../../src/auth/service-keys.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import type { Log } from '../../src/core/deps.ts'
import {
  CURRENT_LINK,
  GENERATIONS_DIR,
  MANIFEST_CONTENT_TYPE,
  MANIFEST_FILE,
  MANIFEST_SIGNATURE_FILE,
  encodedFile,
  formatManifestSignature,
} from '../../src/core/documents.ts'
import type { Manifest } from '../../src/core/documents.ts'
import type { HeldLease } from '../../src/db/leases.ts'
import { syncFile } from '../../src/files/durable.ts'
import { readAssets } from './assets.ts'
import type { KnownAssets } from './assets.ts'
import { compress } from './compress.ts'
import type { PublicDocument } from './document.ts'
import { namesIn, removeDirectory } from './files.ts'
import { draftPlan, emptyRenderCache } from './plan.ts'
import type { Plan, RenderCache } from './plan.ts'
import { filesNamedIn, readPublishedGeneration, rememberChecked } from './published-generation.ts'
import type { CheckedFiles, ParsedManifest, PublishedGeneration } from './published-generation.ts'
import { recycleGeneration, recordGeneration } from './recycle-generation.ts'
import type { GenerationRecords, StagedFiles } from './recycle-generation.ts'
import { createStagingDirectory } from './staging-directory.ts'
import type { StagingDirectory } from './staging-directory.ts'

/** The current generation, two earlier ones for readers, and the one that is recycled for the next. */
const KEPT_GENERATIONS = 4
const MAX_LOGGED = 20
const STAGING_DIR = '.building'
/** More than are published while the log lacks their entries. */
const LOST_SETS = 1000
/** Damage to a file that generations share does not reach a generation of copies. */
const COPIED_EVERY = 64
/** Higher levels take longer and do not make hashes and signatures smaller. */
const MANIFEST_LEVELS = { brotli: 1, gzip: 1 }

export interface PublishMemory {
  readonly rendered: RenderCache
  readonly checked: CheckedFiles
  readonly parsed: ParsedManifest
  readonly assets: KnownAssets
  readonly records: GenerationRecords
}

export function emptyMemory(): PublishMemory {
  return {
    rendered: emptyRenderCache(),
    checked: new Map(),
    parsed: { last: null },
    assets: new Map(),
    records: new Map(),
  }
}

export interface PublishOptions {
  readonly publicDir: string
  readonly documents: readonly PublicDocument[]
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
  /** The lease of the builder; absent if no other process can publish. */
  readonly leadership?: Leadership
  /** Where readers see the set; absent if they see the directory. */
  readonly remote?: RemoteSets
}

export interface RemoteSets {
  /** Makes the set that readers see the current one, by way of `workDir`. */
  readonly restore: (workDir: string) => Promise<void>
  readonly lastVersion: () => number
  /** Gets the current set, or its successor before the switch. If it fails, the current set stays. */
  readonly release: (set: {
    readonly directory: string
    readonly manifest: Manifest
    readonly manifestBytes: Uint8Array
    /** The set that this one replaces, or this one. */
    readonly past: PublishedGeneration | null
  }) => Promise<void>
}

export interface Leadership {
  readonly lease: HeldLease
  /** Call before an effect outside of the database. @throws LeaseLostError */
  readonly check: () => Promise<void>
}

export type PublishOutcome = Awaited<ReturnType<typeof publishFrom>>

export class OtherSiteError extends Error {
  override readonly name = 'OtherSiteError'
}

/**
 * Writes nothing when nothing changed. All changes go through one directory of the lease, which the next leader takes
 * away: then every later rename of a builder that was paused finds no source. @throws OtherSiteError for a set of another
 * `siteUrl` unless `move`; LeaseLostError; DamagedGenerationError for a damaged manifest, leaving the set untouched
 */
export async function publish(options: PublishOptions): Promise<PublishOutcome> {
  const generations = join(options.publicDir, GENERATIONS_DIR)
  const workDir = join(generations, `${STAGING_DIR}-${options.leadership?.lease.fence ?? 0}`)
  options.beforeStep?.('remove unfinished generations')
  await rm(workDir, { recursive: true, force: true })
  await mkdir(generations, { recursive: true })
  await mkdir(workDir)
  await options.leadership?.check()
  for (const name of await namesIn(generations)) {
    const path = join(generations, name)
    if (name.startsWith(STAGING_DIR) && path !== workDir) await takeAway(path, workDir)
  }
  await options.remote?.restore(workDir)
  const outcome = await publishFrom(workDir, options)
  await rm(workDir, { recursive: true })
  return outcome
}

async function publishFrom(workDir: string, options: PublishOptions) {
  const { publicDir, log, memory = emptyMemory() } = options
  const { rendered, checked, parsed, records } = memory
  const past = await readPublishedGeneration(publicDir, options.ring, { checked, parsed })
  if (past !== null && isOtherSite(past.manifest, options)) {
    throw new OtherSiteError(
      `The published set belongs to ${past.manifest.site_url}, but SITE_URL is ${options.siteUrl}. ` +
        'Correct SITE_URL, or run the builder with --once --move to move the set to the new address.',
    )
  }
  // Generations that `current` never reached.
  for (const number of past === null ? [] : await generationNumbers(publicDir)) {
    if (number > (past?.generation ?? 0)) await takeAway(directoryOf(publicDir, number), workDir)
  }
  const assets =
    options.assetsDir === null ? [] : await readAssets(options.assetsDir, memory.assets)
  // Files had to be hashed again, so another process may also have changed older generations.
  if (past === null || past.hashed > 0) records.clear()
  const root = join(workDir, 'set')
  const isCopy = past !== null && (past.generation + 1) % COPIED_EVERY === 0
  const staging = createStagingDirectory(root, {
    ...options,
    isCopy,
    recycle: async () => {
      if (past === null || isCopy) return null
      const { generation: current } = past
      return await recycleGeneration({
        records,
        directoryOf: (generation) => directoryOf(publicDir, generation),
        oldest: current - KEPT_GENERATIONS + 1,
        current,
        root,
        beforeStep: options.beforeStep,
      })
    },
  })
  const documents = [...options.documents, ...assets]
  const numbers = await generationNumbers(publicDir)
  const known = Math.max(options.remote?.lastVersion() ?? 0, ...numbers)
  const logged = options.lastVersion ?? 0
  // After the loss of the newest sets, numbers are left out that readers may have seen. A set whose link was removed has no
  // known predecessor.
  const step = past === null && numbers.length > 0 ? 2 : 1
  const generation = logged > known ? logged + LOST_SETS : known + step
  const store = staging.write
  const plan = await draftPlan(documents, past, { ...options, rendered, generation, store })
  const { changed, removed, repaired, unchanged, manifest } = plan
  const outcome = { changed, removed, unchanged, manifest }
  if (past !== null && manifest === past.manifest) {
    const manifestBytes = parsed.last?.bytes ?? Buffer.alloc(0)
    await options.remote?.release({ directory: past.directory, manifest, manifestBytes, past })
    // The previous builder may have ended between its switch and its pruning.
    const pruned = await prune(past.generation, options)
    if (pruned > 0 || past.hashed > 0) await rememberChecked(past.directory, manifest, checked)
    return { ...outcome, generation: past.generation }
  }
  if (past !== null && past.damaged.size > 0) {
    log.error('the files of published documents were damaged and are written again', {
      files: [...past.damaged].slice(0, MAX_LOGGED).join(', '),
      documents: repaired.length,
    })
  }
  if (past !== null && !past.isOurs)
    log.warn('the last set was signed with another key: signing all documents again')
  const manifestBytes = Buffer.from(canonicalize(manifest), 'utf8')
  const staged = await stage(plan, manifestBytes, past, { ...options, staging })
  await options.remote?.release({ directory: root, manifest, manifestBytes, past })
  const directory = directoryOf(publicDir, generation)
  await nameAndSwitch(workDir, directory, options)
  const pruned = await prune(generation, options)
  // If true, link counts, and so fingerprints, changed only for renewed files.
  const isCounted = pruned === 0 && past?.hashed === 0
  parsed.last = { bytes: manifestBytes, manifest }
  await rememberChecked(directory, manifest, checked, isCounted ? staged : undefined)
  recordGeneration(records, generation, directory, staged)
  for (const old of records.keys()) if (old <= generation - KEPT_GENERATIONS) records.delete(old)
  const counts = { changed: changed.length, removed: removed.length, unchanged }
  log.info('published', { generation, ...counts })
  return { ...outcome, generation }
}

/** A set of a loopback address was published for trial only. */
function isOtherSite(
  { site_url: published }: Manifest,
  { siteUrl, move }: PublishOptions,
): boolean {
  return published !== siteUrl && move !== true && !loopback.test(new URL(published).hostname)
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

export function directoryOf(publicDir: string, generation: number): string {
  return join(publicDir, GENERATIONS_DIR, String(generation).padStart(8, '0'))
}

async function generationNumbers(publicDir: string): Promise<number[]> {
  const names = await namesIn(join(publicDir, GENERATIONS_DIR))
  return names.filter((name) => /^\d{8,15}$/.test(name)).map(Number)
}

/** A builder that was paused cannot do this, since its `workDir` is gone. */
export async function takeAway(path: string, workDir: string): Promise<void> {
  const gone = join(workDir, 'gone')
  await rename(path, gone)
  await rm(gone, { recursive: true })
}

async function stage(
  { reusedFiles }: Plan,
  manifestBytes: Uint8Array,
  past: PublishedGeneration | null,
  { staging, signer }: { readonly staging: StagingDirectory; readonly signer: Signer },
): Promise<StagedFiles> {
  const reused = new Set(reusedFiles)
  const before = past === null ? [] : [...filesNamedIn(past.manifest)].map(({ file }) => file)
  const forms = (['br', 'gzip'] as const).map((form) => encodedFile(MANIFEST_FILE, form))
  const gone = [...before, ...forms].filter((file) => !reused.has(file))
  await staging.reuse({ files: reusedFiles, from: past?.directory ?? null, gone })
  for (const form of await compress(manifestBytes, MANIFEST_CONTENT_TYPE, MANIFEST_LEVELS)) {
    await staging.write(encodedFile(MANIFEST_FILE, form.encoding), form.bytes)
  }
  const signature = Buffer.from(signer.sign(manifestBytes)).toString('base64')
  const line = formatManifestSignature(signature, signer.kid)
  await staging.write(MANIFEST_SIGNATURE_FILE, Buffer.from(line, 'utf8'))
  // The manifest is written last, so a directory with a manifest is complete.
  await staging.write(MANIFEST_FILE, manifestBytes)
  return await staging.flush()
}

/** Makes the set in `workDir`, which is complete, the current one. */
export async function nameAndSwitch(
  workDir: string,
  directory: string,
  { publicDir, beforeStep: step }: Pick<PublishOptions, 'publicDir' | 'beforeStep'>,
): Promise<void> {
  step?.('name the generation')
  await rename(join(workDir, 'set'), directory)
  step?.('flush the generations')
  await syncFile(join(publicDir, GENERATIONS_DIR))
  const next = join(workDir, 'next')
  step?.('make the link')
  // Relative to its later place, so that the directory can be moved or mounted elsewhere.
  await symlink(relative(publicDir, directory), next)
  step?.('switch')
  await rename(next, join(publicDir, CURRENT_LINK))
  step?.('flush the switch')
  await syncFile(publicDir)
}

async function prune(
  generation: number,
  { publicDir, beforeStep: step }: PublishOptions,
): Promise<number> {
  const sorted = (await generationNumbers(publicDir)).sort((left, right) => right - left)
  const surplus = sorted.filter((number) => number <= generation).slice(KEPT_GENERATIONS)
  for (const old of surplus) {
    step?.(`remove generation ${old}`)
    await removeDirectory(directoryOf(publicDir, old))
  }
  return surplus.length
}
