/** Reuses results from build to build in one process. Never stored: other code may derive other bytes. */
import { maxAgeOf } from '../../src/contract/routes.ts'
import { memoizeLatest } from '../cache/memoize.ts'
import { createArticles } from '../desk/all-articles.ts'
import { createSnapshots } from '../documents/index.ts'
import { emptyArchiveMemory } from '../publish/archive.ts'
import type { ArchiveMemory } from '../publish/archive.ts'
import type { PublicDocument } from '../publish/document.ts'
import { createLastFacts, diffDocument } from '../publish/last-facts.ts'
import type { LastFacts, LastFactsStore } from '../publish/last-facts.ts'
import { emptyMemory } from '../publish/publish.ts'
import type { PublishMemory } from '../publish/publish.ts'
import { createVendored } from '../publish/vendored.ts'
import { createSharedPages } from '../site/share.ts'
import { createSite } from '../site/site-documents.ts'
import { emptyGatherMemory } from '../world/gather.ts'
import type { GatherMemory } from '../world/gather.ts'
import type { World } from '../world/world.ts'

export interface BuildMemory {
  readonly gather: GatherMemory
  readonly withArticles: ReturnType<typeof createArticles>
  readonly snapshotsOf: ReturnType<typeof createSnapshots>
  readonly siteOf: ReturnType<typeof createSite>
  readonly drawingsOf: ReturnType<typeof createSharedPages>
  readonly diffOf: (facts: LastFacts) => PublicDocument
  readonly lastFacts: LastFactsStore
  readonly vendored: () => Promise<readonly PublicDocument[]>
  readonly publish: PublishMemory
  readonly archive: ArchiveMemory
  built: World | null
}

export function emptyBuildMemory(options: {
  readonly dataDir: string
  readonly stateDir: string
}): BuildMemory {
  return {
    gather: emptyGatherMemory(options.dataDir),
    withArticles: createArticles(),
    snapshotsOf: createSnapshots(),
    siteOf: createSite(),
    drawingsOf: createSharedPages(),
    diffOf: memoizeLatest((facts: LastFacts) => diffDocument(facts, maxAgeOf('getLatestDiff'))),
    lastFacts: createLastFacts(options.stateDir),
    vendored: createVendored(),
    publish: emptyMemory(),
    archive: emptyArchiveMemory(),
    built: null,
  }
}
