/**
 * Publishes a set of documents as one generation, or nothing at all where nothing changed.
 *
 * A new generation is a directory of hard links to what did not change and new files for what did; where this process
 * made the ones before it, the oldest of them is taken for it (`recycle-generation.ts`).
 * Nobody can see it until one rename switches `current` to it, so a reader finds the old set or the
 * new one and never a mixture, and a builder that dies leaves a directory that the next one clears away.
 */
import { linkSync } from 'node:fs'
import { mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'

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
import { isErrno } from '../../src/core/errno.ts'
import { readAssets } from './assets.ts'
import type { KnownAssets } from './assets.ts'
import { compress } from './compress.ts'
import type { PublicDocument } from './document.ts'
import { inParallel, inSlices, namesIn, removeDirectory, syncDirectory, writeNew } from './files.ts'
import type { KeyRing, Signer } from './keys.ts'
import { acquireLock } from './lock.ts'
import type { Lock } from './lock.ts'
import { draftPlan, nothingRendered } from './plan.ts'
import type { Plan, Rendered } from './plan.ts'
import { filesNamedIn, readPast, rememberChecked, rememberFiles } from './published-generation.ts'
import type { CheckedFiles, ParsedManifest, PublishedGeneration } from './published-generation.ts'
import { directoriesOf, rememberMade, recycleGeneration } from './recycle-generation.ts'
import type { MadeGenerations, Reused } from './recycle-generation.ts'
import { createStagingDirectory } from './staging-directory.ts'
import type { StagingDirectory } from './staging-directory.ts'

/**
 * The current one and two before it, since a reader that has opened one may finish reading it; and the one that becomes
 * the next.
 */
const KEPT_GENERATIONS = 4
const LOCK_FILE = '.publish.lock'
const NEXT_LINK = '.current.next'
const WRITES_AT_ONCE = 16
/**
 * Most of a manifest is hashes and signatures, in which nothing comes twice: what looks harder finds nothing more, and
 * takes five times as long, in each build.
 */
const MANIFEST_QUALITY = 4

export interface PublishMemory {
  readonly rendered: Rendered
  readonly checked: CheckedFiles
  readonly parsed: ParsedManifest
  readonly assets: KnownAssets
  readonly made: MadeGenerations
}

export function emptyMemory(): PublishMemory {
  return {
    rendered: nothingRendered(),
    checked: new Map(),
    parsed: { last: null },
    assets: new Map(),
    made: new Map(),
  }
}

export interface PublishOptions {
  readonly publicDir: string
  readonly documents: readonly PublicDocument[]
  /** Assets made by hand, published in the same set; null for none. */
  readonly assetsDir: string | null
  readonly signer: Signer
  readonly ring: KeyRing
  /** What this process knows of what it published before; absent: everything is read and rendered anew. */
  readonly memory?: PublishMemory
  /** Unix milliseconds: the time at which whatever changed has changed. */
  readonly nowMs: number
  readonly log: Log
  /** Called before every step that a crash could fall on. */
  readonly beforeStep?: (step: string) => void
}

export interface Published {
  readonly generation: number
  /** Paths whose bytes are new. */
  readonly changed: readonly string[]
  /** Paths that are no longer published. */
  readonly removed: readonly string[]
  /** How many documents kept their bytes. */
  readonly unchanged: number
  readonly manifest: Manifest
}

/**
 * Same input, same bytes: a second call with the same documents writes no file and makes no generation.
 * @throws LockedError where another builder is publishing.
 * @throws DamagedGenerationError where the current set is damaged; it is left as it is.
 */
export async function publish(options: PublishOptions): Promise<Published> {
  const { publicDir, log, memory = emptyMemory() } = options
  const { rendered, checked, parsed } = memory
  await mkdir(publicDir, { recursive: true })
  const lock = acquireLock(join(publicDir, LOCK_FILE), options.nowMs)
  try {
    const past = await readPast(publicDir, options.ring, { checked, parsed })
    await clearHalfMade(past, options)
    const assets =
      options.assetsDir === null ? [] : await readAssets(options.assetsDir, memory.assets)
    // Without a set, or in one where a file was put in place by somebody else, nothing is known of older ones.
    if (past === null || past.hashed > 0) memory.made.clear()
    const building = createStagingDirectory(halfMade(publicDir), {
      ...options,
      assertHeld: lock.assertHeld,
      reuse: async () => {
        if (past === null) return null
        lock.assertHeld()
        return await reuse(past.generation, options, memory)
      },
    })
    const plan = await draftPlan([...options.documents, ...assets], past, {
      ...options,
      rendered,
      store: building.write,
    })
    const { changed, removed, unchanged } = plan
    if (past !== null && !plan.differs) {
      // The builder before this one may have died between its switch and its pruning.
      const pruned = await prune(past.generation, options)
      if (pruned > 0 || past.hashed > 0) {
        await rememberChecked(past.directory, past.manifest, checked)
      }
      return { generation: past.generation, changed, removed, unchanged, manifest: past.manifest }
    }
    if (past !== null && !past.ours) log.warn('signed by a key that is not ours: all signed again')
    const generation = await nextGeneration(publicDir)
    const written = await writeGeneration(plan, past, generation, { ...options, building })
    await switchTo(generation, lock, options)
    const pruned = await prune(generation, options)
    const isCounted = pruned === 0 && past?.hashed === 0
    await remember(written, generationIn(publicDir, generation), generation, {
      memory,
      isCounted,
    })
    const { manifest } = written
    const counts = { changed: changed.length, removed: removed.length, unchanged }
    log.info('published', { generation, ...counts })
    return { generation, changed, removed, unchanged, manifest }
  } finally {
    lock.release()
  }
}

function halfMade(publicDir: string): string {
  return join(publicDir, GENERATIONS_DIR, '.building')
}

function generationName(generation: number): string {
  return String(generation).padStart(8, '0')
}

function generationIn(publicDir: string, generation: number): string {
  return join(publicDir, GENERATIONS_DIR, generationName(generation))
}

async function reuse(
  current: number,
  { publicDir, beforeStep }: PublishOptions,
  { made }: PublishMemory,
): Promise<Reused | null> {
  return await recycleGeneration({
    made,
    directoryOf: (generation) => generationIn(publicDir, generation),
    oldest: current - KEPT_GENERATIONS + 1,
    current,
    root: halfMade(publicDir),
    beforeStep,
  })
}

async function generations(publicDir: string): Promise<number[]> {
  const names = await namesIn(join(publicDir, GENERATIONS_DIR))
  return names.filter((name) => /^\d{8,15}$/.test(name)).map(Number)
}

async function nextGeneration(publicDir: string): Promise<number> {
  return Math.max(0, ...(await generations(publicDir))) + 1
}

/** A dead builder leaves a directory without a number, or a number that `current` never reached. */
async function clearHalfMade(
  past: PublishedGeneration | null,
  options: PublishOptions,
): Promise<void> {
  const { publicDir, beforeStep: step } = options
  const home = join(publicDir, GENERATIONS_DIR)
  step?.('clear what is half-made')
  await rm(join(publicDir, NEXT_LINK), { force: true })
  await rm(halfMade(publicDir), { recursive: true, force: true })
  if (past === null) return
  for (const number of await generations(publicDir)) {
    if (number > past.generation) await rm(join(home, generationName(number)), { recursive: true })
  }
}

interface Written {
  readonly manifest: Manifest
  readonly bytes: Buffer
  /** All of the generation, relative; `.` is its root. */
  readonly directories: ReadonlySet<string>
  /** Files of the set that were linked or written; null where all of them were. */
  readonly renewed: ReadonlySet<string> | null
  /** Files that are not those of the last generation, gone ones among them; null where any was copied. */
  readonly touched: ReadonlySet<string> | null
}

async function writeGeneration(
  plan: Plan,
  past: PublishedGeneration | null,
  generation: number,
  options: PublishOptions & { readonly building: StagingDirectory },
): Promise<Written> {
  const { building, beforeStep: step } = options
  const { root, write, written } = building
  const home = join(options.publicDir, GENERATIONS_DIR)
  const reused = await building.begin()
  const links = reused === null ? plan.kept : plan.kept.filter((file) => reused.lacking.has(file))
  await building.prepare(links)
  const areShared = past === null || (await keep(links, past.directory, root, step))

  const { manifest } = plan
  const bytes = Buffer.from(canonicalize(manifest), 'utf8')
  const signature = Buffer.from(options.signer.sign(bytes)).toString('base64')
  const line = formatManifestSignature(signature, options.signer.kid)
  for (const form of await compress(bytes, MANIFEST_CONTENT_TYPE, MANIFEST_QUALITY)) {
    await write(encodedFile(MANIFEST_FILE, form.encoding), form.bytes)
  }
  await write(MANIFEST_SIGNATURE_FILE, Buffer.from(line, 'utf8'))
  // The manifest goes last: a directory that has one has all that it names.
  await write(MANIFEST_FILE, bytes)

  const kept = new Set(plan.kept)
  const before = past === null ? [] : [...filesNamedIn(past.manifest)].map(({ file }) => file)
  const forms = (['br', 'gzip'] as const).map((form) => encodedFile(MANIFEST_FILE, form))
  const gone = [...before, ...forms].filter((file) => !kept.has(file))
  const directories = directoriesOf([...kept, ...written])
  if (reused !== null) {
    const removed = gone.filter((file) => !written.has(file))
    await building.clear(removed, directories)
  }
  await building.flush()
  step?.('name the generation')
  await rename(root, join(home, generationName(generation)))
  step?.('flush the generations')
  await syncDirectory(home)
  return {
    manifest,
    bytes,
    directories,
    renewed: reused === null ? null : new Set([...links, ...written]),
    touched: areShared ? new Set([...gone, ...written]) : null,
  }
}

/**
 * Hard links share the bytes and their time; where a file system has none, the bytes are copied. Answers whether all were
 * linked.
 */
async function keep(
  files: readonly string[],
  from: string,
  to: string,
  step: PublishOptions['beforeStep'],
): Promise<boolean> {
  const refused: string[] = []
  await inSlices(files, (file) => {
    step?.(`link ${file}`)
    try {
      linkSync(`${from}/${file}`, `${to}/${file}`)
    } catch (error) {
      if (!LINK_REFUSALS.some((code) => isErrno(error, code))) throw error
      refused.push(file)
    }
  })
  await inParallel(refused, WRITES_AT_ONCE, async (file) => {
    await writeNew(join(to, file), await readFile(join(from, file)))
  })
  return refused.length === 0
}

const LINK_REFUSALS = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

async function switchTo(generation: number, lock: Lock, options: PublishOptions): Promise<void> {
  const { publicDir, beforeStep: step } = options
  const next = join(publicDir, NEXT_LINK)
  step?.('make the link')
  // Relative, so that the directory can be moved or mounted elsewhere as a whole.
  await symlink(`${GENERATIONS_DIR}/${generationName(generation)}`, next)
  lock.assertHeld()
  step?.('switch')
  await rename(next, join(publicDir, CURRENT_LINK))
  step?.('flush the switch')
  await syncDirectory(publicDir)
}

/** `isCounted`: no file of the set got or lost a link but those that were renewed. */
async function remember(
  { manifest, bytes, directories, renewed, touched }: Written,
  directory: string,
  generation: number,
  { memory, isCounted }: { readonly memory: PublishMemory; readonly isCounted: boolean },
): Promise<void> {
  const { checked, parsed, made } = memory
  parsed.last = { bytes, manifest }
  if (isCounted && renewed !== null && touched !== null) {
    rememberFiles(directory, manifest, checked, { renewed, gone: touched })
  } else await rememberChecked(directory, manifest, checked)
  if (touched === null) made.clear()
  else rememberMade(made, generation, directory, { directories, touched })
  for (const old of made.keys()) if (old <= generation - KEPT_GENERATIONS) made.delete(old)
}

/** Answers how many were removed. */
async function prune(generation: number, options: PublishOptions): Promise<number> {
  const { beforeStep: step } = options
  const sorted = (await generations(options.publicDir)).sort((left, right) => right - left)
  const surplus = sorted.filter((number) => number <= generation).slice(KEPT_GENERATIONS)
  for (const old of surplus) {
    step?.(`remove generation ${old}`)
    await removeDirectory(join(options.publicDir, GENERATIONS_DIR, generationName(old)))
  }
  return surplus.length
}
