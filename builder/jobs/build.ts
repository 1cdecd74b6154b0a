import { join } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import type { Keys } from '../../src/auth/service-keys.ts'
import type { Log } from '../../src/core/deps.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { isoTime } from '../../src/core/time.ts'
import { queueEntries } from '../../src/db/log.ts'
import { archive } from '../archive/archive.ts'
import type { ArchiveOutcome, ArchiveOptions } from '../archive/archive.ts'
import { archivedFiles, factsOf, nextFacts } from '../archive/last-facts.ts'
import { markAsDemo } from '../documents/demo-mark.ts'
import { logAuthored } from '../log/authored.ts'
import type { PublicDocument } from '../publish/document.ts'
import { publishEvidence, removeExpiredEvidence } from '../publish/evidence.ts'
import { publish } from '../publish/publish.ts'
import type { PublishOutcome } from '../publish/publish.ts'
import type { SetStore } from '../publish/store/store.ts'
import { readShareImages, renderShareImages } from '../site/share-images.ts'
import type { Drawing } from '../site/share-images.ts'
import { gatherWorld } from '../world/gather.ts'
import type { GatherOptions } from '../world/gather.ts'
import type { World } from '../world/world.ts'
import { emptyBuildMemory } from './build-memory.ts'
import type { BuildMemory } from './build-memory.ts'

export interface BuildOptions extends Omit<GatherOptions, 'publicKeys' | 'memory'> {
  readonly keys: Keys
  readonly stateDir: string
  readonly store: SetStore
  /** Call before an effect outside of the database. @throws LeaseLostError */
  readonly check: () => Promise<void>
  readonly assetsDir: string | null
  /** Allows the published set to change its `SITE_URL`. */
  readonly move?: boolean
  readonly repository: Pick<ArchiveOptions, 'remote' | 'env'>
  readonly isDemo?: boolean
  /** Without a memory, everything is read and rendered again. */
  readonly memory?: BuildMemory
  readonly log: Log
  /** The highest manifest version that others may have seen. @throws Error if nothing may be published */
  readonly lastVersion: () => Promise<number>
  /** Runs after each publication, before facts are archived. */
  readonly onPublished?: () => void
}

type RememberingOptions = BuildOptions & { readonly memory: BuildMemory }

type BuildOutcome = Awaited<ReturnType<typeof buildWorld>>

/** Publishes before archiving: the next build repairs a failed archive. @throws Error before it overwrites anything */
export async function build(options: BuildOptions): Promise<BuildOutcome> {
  const { memory = emptyBuildMemory(options) } = options
  const remembering = { ...options, memory }
  return await buildWorld(await gather(remembering), remembering)
}

/** Returns null, without building, if only the job runs differ from the last build. */
export async function buildIfChanged(options: RememberingOptions): Promise<BuildOutcome | null> {
  const world = await gather(options)
  const { built } = options.memory
  const isBuilt =
    built !== null &&
    entriesOf(world).every(([part, value]) => part === 'runs' || value === built[part])
  return isBuilt ? null : await buildWorld(world, options)
}

async function gather(options: RememberingOptions): Promise<World> {
  const { keys, memory } = options
  return await gatherWorld({ ...options, publicKeys: keys.publicKeys, memory: memory.gather })
}

async function buildWorld(gathered: World, options: RememberingOptions) {
  const { stateDir, store, database, nowMs, log, memory } = options
  memory.built = null
  const lastVersion = await options.lastVersion()
  const world = memory.withArticles(gathered)
  const documents = memory.snapshotsOf(world)
  const facts = factsOf(documents)
  const next = nextFacts(await memory.lastFacts.load(store, database.reader), facts)
  const storedFacts = memory.lastFacts.stored(next)
  const mark = options.isDemo === true ? markAsDemo : (document: PublicDocument) => document
  const others = [...documents, memory.diffOf(next), ...(await memory.vendored())].map(mark)
  const publishWith = async (images: readonly PublicDocument[]) => {
    const published = await publish({
      ...options,
      ...options.keys,
      siteUrl: options.site.url,
      documents: [...others, ...memory.siteOf(world, images, documents).map(mark)],
      facts: storedFacts,
      lastVersion,
      memory: memory.publish,
    })
    options.onPublished?.()
    return published
  }
  await logAuthored(database, world, others, memory.authored)
  await publishEvidence(database, store, memory.evidence)
  const drawings = memory.drawingsOf(world)
  const published = await withShareImages(join(stateDir, 'share'), drawings, publishWith, log)
  await options.check()
  await removeExpiredEvidence(database, store, isoTime(nowMs))
  memory.lastFacts.keep(next, storedFacts, facts)
  const archived = await archive({
    ...options,
    ...options.repository,
    repoDir: join(stateDir, 'snapshots.git'),
    files: archivedFiles(others, memory.archive.texts),
    message: next.message,
    memory: memory.archive,
  })
  const id = memory.archive.last?.head
  if (archived.state === 'ok' && id !== undefined && id !== memory.authored.commit) {
    const entry = { kind: 'archive', id, sha256: sha256Hex(id), subject: 'archive' } as const
    await database.write((tx) => queueEntries(tx, [entry]))
    memory.authored.commit = id
  }
  report(published, archived, log)
  memory.built = gathered
  return { published, archived }
}

/** Up to this number of new images are rendered before publishing, since a second set would take longer. */
const fewPictures = 2

/** Publishes existing images first and new ones in a second set, so that figures are not delayed. */
async function withShareImages(
  dir: string,
  drawings: readonly Drawing[],
  publishWith: (images: readonly PublicDocument[]) => Promise<PublishOutcome>,
  log: Log,
): Promise<PublishOutcome> {
  const { documents, pending } = await readShareImages(dir, drawings)
  if (pending.length === 0) return await publishWith(documents)
  const first = pending.length > fewPictures ? await publishWith(documents) : null
  try {
    await renderShareImages(dir, drawings, pending)
  } catch (error) {
    log.warn('no new share images', { error: error instanceof Error ? error.message : 'unknown' })
    return first ?? (await publishWith(documents))
  }
  const second = await publishWith((await readShareImages(dir, drawings)).documents)
  if (first === null) return second
  const changed = [...new Set([...first.changed, ...second.changed])].sort()
  return { ...second, changed, removed: [...new Set([...first.removed, ...second.removed])] }
}

function report(
  { changed }: PublishOutcome,
  { state, error, behind }: ArchiveOutcome,
  log: Log,
): void {
  if (state === 'off' && changed.length > 0) log.warn('not archived', { reason: error })
  if (state === 'failed') log.warn('the snapshot repository is behind', { error, behind })
}

/** Such as `12 documents changed, 3 removed, committed 1a2b3c4`; null when nothing happened. */
export function buildSummary({ published, archived }: BuildOutcome): string | null {
  const { changed, removed } = published
  const parts = [
    changed.length === 0 ? null : `${changed.length} documents changed`,
    removed.length === 0 ? null : `${removed.length} removed`,
    archived.committed === null ? null : `committed ${archived.committed.slice(0, 7)}`,
    archived.state === 'failed' ? `archive failed: ${archived.error ?? 'no reason given'}` : null,
    archived.behind ? `${archived.behind} commits not pushed` : null,
  ].filter((part) => part !== null)
  if (parts.length === 0) return null
  // Operators may run without git, so this is reported only together with a change.
  if (archived.state === 'off') parts.push(`not archived: ${archived.error ?? 'git is missing'}`)
  return parts.join(', ')
}
