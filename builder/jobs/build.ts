/** One build: gather the world, derive the documents, publish what changed, archive the facts. */
import { join } from 'node:path'

import type { Log } from '../../src/core/deps.ts'
import { archive } from '../publish/archive.ts'
import type { Archived, ArchiveOptions } from '../publish/archive.ts'
import { archiveFiles } from '../publish/document.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { Keys } from '../publish/keys.ts'
import { factsOf, nextFacts } from '../publish/last-facts.ts'
import { publish } from '../publish/publish.ts'
import type { Published } from '../publish/publish.ts'
import { readShareImages, renderShareImages } from '../publish/share-images.ts'
import type { SharedPage } from '../site/share.ts'
import { gatherWorld } from '../world/gather.ts'
import type { GatherOptions } from '../world/gather.ts'
import { emptyBuildMemory } from './build-memory.ts'
import type { BuildMemory } from './build-memory.ts'

export interface BuildOptions extends Omit<GatherOptions, 'publicKeys' | 'memory'> {
  readonly keys: Keys
  /** Runtime state: the snapshot repository and what the last build knew. */
  readonly stateDir: string
  readonly publicDir: string
  /** Assets made by hand; null for none. */
  readonly assetsDir: string | null
  readonly repository: Pick<ArchiveOptions, 'remote' | 'env' | 'check'>
  /** Absent: everything is read and rendered anew. */
  readonly memory?: BuildMemory
  readonly log: Log
  /** Called as soon as a set is there to be read: before many pictures are drawn and before facts are archived. */
  readonly onPublished?: () => void
}

export interface Built {
  readonly published: Published
  readonly archived: Archived
}

const author = { name: 'Agent Income Ledger', email: 'ledger@localhost' }

/**
 * Publishing comes first: what went wrong with the archive is an outcome and is made good by the next build.
 * Throws where the past cannot be read or the documents cannot be published; nothing is overwritten then.
 */
export async function build(options: BuildOptions): Promise<Built> {
  const {
    keys,
    stateDir,
    publicDir,
    assetsDir,
    nowMs,
    log,
    repository,
    memory = emptyBuildMemory(options),
  } = options
  const { publicKeys } = keys
  const world = memory.withArticles(
    await gatherWorld({ ...options, publicKeys, memory: memory.gather }),
  )
  const documents = memory.snapshotsOf(world)
  const facts = factsOf(documents)
  const next = nextFacts(await memory.lastFacts.load(), facts)
  const others = [...documents, memory.diffOf(next), ...(await memory.vendored())]
  const publishWith = async (images: readonly PublicDocument[]) => {
    const published = await publish({
      publicDir,
      documents: [...others, ...memory.siteOf(world, images)],
      assetsDir,
      signer: keys.signer,
      ring: keys.ring,
      nowMs,
      log,
      memory: memory.publish,
    })
    options.onPublished?.()
    return published
  }
  const drawings = memory.drawingsOf(world)
  const published = await withShareImages(join(stateDir, 'share'), drawings, publishWith, log)
  await memory.lastFacts.keep(next, facts)
  const archived = await archive({
    repoDir: join(stateDir, 'snapshots.git'),
    files: archiveFiles(others, memory.archive.texts),
    message: next.message,
    nowMs,
    author,
    memory: memory.archive,
    ...repository,
  })
  report(published, archived, log)
  return { published, archived }
}

/** So many pictures are drawn sooner than a second generation is made. */
const fewPictures = 2

/**
 * Publishes with the pictures of pages that there are, and again with those that are new or changed: figures never
 * wait for pictures, unless for a few: many are drawn on the core beside. What goes wrong with a picture is told and tried again by the next build.
 */
async function withShareImages(
  dir: string,
  drawings: readonly SharedPage[],
  publishWith: (images: readonly PublicDocument[]) => Promise<Published>,
  log: Log,
): Promise<Published> {
  const { documents, pending } = await readShareImages(dir, drawings)
  const render = async () => {
    try {
      await renderShareImages(dir, drawings, pending)
      return true
    } catch (error) {
      log.warn('no new share images', { error: error instanceof Error ? error.message : 'unknown' })
      return false
    }
  }
  if (pending.length === 0) return await publishWith(documents)
  if (pending.length <= fewPictures) {
    await render()
    return await publishWith((await readShareImages(dir, drawings)).documents)
  }
  const rendering = render()
  let first: Published
  try {
    first = await publishWith(documents)
  } finally {
    // Nothing goes on behind the caller's back, also where nothing could be published.
    await rendering
  }
  if (!(await rendering)) return first
  const second = await publishWith((await readShareImages(dir, drawings)).documents)
  const changed = [...new Set([...first.changed, ...second.changed])].sort()
  return { ...second, changed, removed: [...new Set([...first.removed, ...second.removed])] }
}

function report(
  { changed }: Published,
  { state, error, restarted, behind }: Archived,
  log: Log,
): void {
  if (restarted !== null) {
    log.error('the snapshot repository was damaged and begun anew', { ...restarted })
  }
  if (state === 'off' && changed.length > 0) log.warn('not archived', { reason: error })
  if (state === 'failed') log.warn('the snapshot repository is behind', { error, behind })
}

/** `12 documents changed, 3 removed; committed 1a2b3c4`: the detail of a run. Null where nothing happened. */
export function buildSummary({ published, archived }: Built): string | null {
  const { changed, removed } = published
  const parts = [
    changed.length === 0 ? null : `${changed.length} documents changed`,
    removed.length === 0 ? null : `${removed.length} removed`,
    archived.committed === null ? null : `committed ${archived.committed.slice(0, 7)}`,
    archived.restarted === null ? null : 'snapshot repository begun anew',
    archived.state === 'failed' ? `archive failed: ${archived.error ?? 'no reason given'}` : null,
    archived.pushed === false ? `${archived.behind ?? 'some'} commits not pushed` : null,
  ].filter((part) => part !== null)
  if (parts.length === 0) return null
  // Not having git is a choice: it is told beside what happened, and is no event of its own.
  if (archived.state === 'off') parts.push(`not archived: ${archived.error ?? 'there is no git'}`)
  return parts.join(', ')
}
