/** Publishes documents as one generation: hard links to unchanged files, new files, and one rename of `current`. */
import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'

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
import { readAssets } from './assets.ts'
import type { KnownAssets } from './assets.ts'
import { compress } from './compress.ts'
import type { PublicDocument } from './document.ts'
import { namesIn, removeDirectory, syncDirectory } from './files.ts'
import type { KeyRing, Signer } from './keys.ts'
import { withFileLock } from './lock.ts'
import { draftPlan, emptyRenderCache } from './plan.ts'
import type { Plan, RenderCache } from './plan.ts'
import {
  filesNamedIn,
  readPublishedGeneration,
  rememberChecked,
  rememberFiles,
} from './published-generation.ts'
import type { CheckedFiles, ParsedManifest, PublishedGeneration } from './published-generation.ts'
import { recycleGeneration, recordGeneration } from './recycle-generation.ts'
import type { GenerationRecords } from './recycle-generation.ts'
import { createStagingDirectory, directoriesOf } from './staging-directory.ts'
import type { StagingDirectory } from './staging-directory.ts'

/** The current generation, two before it for readers, and the one that becomes the next. */
const KEPT_GENERATIONS = 4
const LOCK_FILE = '.lock'
const STAGING_DIR = '.building'
const NEXT_LINK = '.current.next'
/** Higher qualities take five times as long and save nothing on hashes and signatures. */
const MANIFEST_QUALITY = 4

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
  readonly assetsDir: string | null
  readonly signer: Signer
  readonly ring: KeyRing
  /** Absent: everything is read and rendered again. */
  readonly memory?: PublishMemory
  /** The time of change of everything that changed. */
  readonly nowMs: number
  readonly log: Log
  readonly beforeStep?: (step: string) => void
}

export interface PublishOutcome {
  readonly generation: number
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  readonly manifest: Manifest
}

/** Writes nothing when nothing changed. @throws LockedError; DamagedGenerationError, leaving the set untouched */
export async function publish(options: PublishOptions): Promise<PublishOutcome> {
  const generations = join(options.publicDir, GENERATIONS_DIR)
  await mkdir(generations, { recursive: true })
  return await withFileLock(join(generations, LOCK_FILE), () => publishLocked(options))
}

async function publishLocked(options: PublishOptions): Promise<PublishOutcome> {
  const { publicDir, log, memory = emptyMemory() } = options
  const { rendered, checked, parsed, records } = memory
  const past = await readPublishedGeneration(publicDir, options.ring, { checked, parsed })
  await clearUnfinished(past, options)
  const assets =
    options.assetsDir === null ? [] : await readAssets(options.assetsDir, memory.assets)
  // Another process may have changed older generations.
  if (past === null || past.hashed > 0) records.clear()
  const root = join(publicDir, GENERATIONS_DIR, STAGING_DIR)
  const staging = createStagingDirectory(root, {
    ...options,
    recycle: async () =>
      past === null ? null : await recycleOldest(past.generation, root, records, options),
  })
  const plan = await draftPlan([...options.documents, ...assets], past, {
    ...options,
    rendered,
    store: staging.write,
  })
  const { changed, removed, unchanged } = plan
  if (past !== null && !plan.differs) {
    // The previous builder may have died between its switch and its pruning.
    const pruned = await prune(past.generation, options)
    if (pruned > 0 || past.hashed > 0) {
      await rememberChecked(past.directory, past.manifest, checked)
    }
    return { generation: past.generation, changed, removed, unchanged, manifest: past.manifest }
  }
  if (past !== null && !past.isOurs)
    log.warn('the last set was signed by another key: signing everything again')
  const generation = Math.max(0, ...(await generationNumbers(publicDir))) + 1
  const written = await writeGeneration(plan, past, generation, { ...options, staging })
  await switchTo(generation, options)
  const pruned = await prune(generation, options)
  const isCounted = pruned === 0 && past?.hashed === 0
  await remember(written, generation, isCounted, { ...options, memory })
  log.info('published', {
    generation,
    changed: changed.length,
    removed: removed.length,
    unchanged,
  })
  return { generation, changed, removed, unchanged, manifest: plan.manifest }
}

function directoryOf(publicDir: string, generation: number): string {
  return join(publicDir, GENERATIONS_DIR, String(generation).padStart(8, '0'))
}

async function generationNumbers(publicDir: string): Promise<number[]> {
  const names = await namesIn(join(publicDir, GENERATIONS_DIR))
  return names.filter((name) => /^\d{8,15}$/.test(name)).map(Number)
}

async function recycleOldest(
  current: number,
  root: string,
  records: GenerationRecords,
  { publicDir, beforeStep }: PublishOptions,
): Promise<Awaited<ReturnType<typeof recycleGeneration>>> {
  return await recycleGeneration({
    records,
    directoryOf: (generation) => directoryOf(publicDir, generation),
    oldest: current - KEPT_GENERATIONS + 1,
    current,
    root,
    beforeStep,
  })
}

/** Removes a staging directory, and generations that `current` never reached. */
async function clearUnfinished(
  past: PublishedGeneration | null,
  { publicDir, beforeStep: step }: PublishOptions,
): Promise<void> {
  step?.('remove unfinished generations')
  await rm(join(publicDir, NEXT_LINK), { force: true })
  await rm(join(publicDir, GENERATIONS_DIR, STAGING_DIR), { recursive: true, force: true })
  if (past === null) return
  for (const number of await generationNumbers(publicDir)) {
    if (number > past.generation) await rm(directoryOf(publicDir, number), { recursive: true })
  }
}

interface WrittenGeneration {
  readonly manifest: Manifest
  readonly manifestBytes: Buffer
  readonly directories: ReadonlySet<string>
  /** Null when every file was linked or written. */
  readonly renewed: ReadonlySet<string> | null
  /** Includes removed files; null when any file was copied. */
  readonly touched: ReadonlySet<string> | null
}

async function writeGeneration(
  plan: Plan,
  past: PublishedGeneration | null,
  generation: number,
  options: PublishOptions & { readonly staging: StagingDirectory },
): Promise<WrittenGeneration> {
  const { staging, signer, publicDir, beforeStep: step } = options
  const { manifest } = plan
  const recycled = await staging.begin()
  const links =
    recycled === null
      ? plan.reusedFiles
      : plan.reusedFiles.filter((file) => recycled.lacking.has(file))
  const isLinked = past === null || (await staging.link(links, past.directory))

  const manifestBytes = Buffer.from(canonicalize(manifest), 'utf8')
  const signature = Buffer.from(signer.sign(manifestBytes)).toString('base64')
  for (const form of await compress(manifestBytes, MANIFEST_CONTENT_TYPE, MANIFEST_QUALITY)) {
    await staging.write(encodedFile(MANIFEST_FILE, form.encoding), form.bytes)
  }
  const line = formatManifestSignature(signature, signer.kid)
  await staging.write(MANIFEST_SIGNATURE_FILE, Buffer.from(line, 'utf8'))
  // The manifest goes last: a directory that has one is complete.
  await staging.write(MANIFEST_FILE, manifestBytes)

  const reused = new Set(plan.reusedFiles)
  const before = past === null ? [] : [...filesNamedIn(past.manifest)].map(({ file }) => file)
  const forms = (['br', 'gzip'] as const).map((form) => encodedFile(MANIFEST_FILE, form))
  const gone = [...before, ...forms].filter((file) => !reused.has(file))
  const directories = directoriesOf([...reused, ...staging.written])
  if (recycled !== null) await staging.remove(gone.filter((file) => !staging.written.has(file)))
  staging.removeDirectoriesBut(directories)
  await staging.flush()
  step?.('name the generation')
  await rename(staging.root, directoryOf(publicDir, generation))
  step?.('flush the generations')
  await syncDirectory(join(publicDir, GENERATIONS_DIR))
  return {
    manifest,
    manifestBytes,
    directories,
    renewed: recycled === null ? null : new Set([...links, ...staging.written]),
    touched: isLinked ? new Set([...gone, ...staging.written]) : null,
  }
}

async function switchTo(
  generation: number,
  { publicDir, beforeStep: step }: PublishOptions,
): Promise<void> {
  const next = join(publicDir, NEXT_LINK)
  step?.('make the link')
  // Relative, so that the directory can be moved or mounted elsewhere.
  await symlink(relative(publicDir, directoryOf(publicDir, generation)), next)
  step?.('switch')
  await rename(next, join(publicDir, CURRENT_LINK))
  step?.('flush the switch')
  await syncDirectory(publicDir)
}

/** `isCounted`: link counts changed on renewed files only. */
async function remember(
  { manifest, manifestBytes, directories, renewed, touched }: WrittenGeneration,
  generation: number,
  isCounted: boolean,
  { publicDir, memory }: { readonly publicDir: string; readonly memory: PublishMemory },
): Promise<void> {
  const { checked, parsed, records } = memory
  const directory = directoryOf(publicDir, generation)
  parsed.last = { bytes: manifestBytes, manifest }
  if (isCounted && renewed !== null && touched !== null) {
    rememberFiles(directory, manifest, checked, { renewed, gone: touched })
  } else await rememberChecked(directory, manifest, checked)
  if (touched === null) records.clear()
  else recordGeneration(records, generation, directory, { directories, touched })
  for (const old of records.keys()) if (old <= generation - KEPT_GENERATIONS) records.delete(old)
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
