/** What a process knows of its builds before. It never outlives the process: code decides bytes too. */
import { maxAgeOf } from '../src/contract/routes.ts'
import { emptyGatherMemory } from './gather.ts'
import type { GatherMemory } from './gather.ts'
import { createSharedPages } from './pages/share.ts'
import { emptyArchiveMemory } from './publish/archive.ts'
import type { ArchiveMemory } from './publish/archive.ts'
import type { PublicDocument } from './publish/document.ts'
import { createLastFacts, diffDocument } from './publish/last-facts.ts'
import type { LastFacts, LastFactsStore } from './publish/last-facts.ts'
import { emptyMemory } from './publish/publish.ts'
import type { PublishMemory } from './publish/publish.ts'
import { createVendored } from './publish/vendored.ts'
import { remembering } from './remembering.ts'
import { createSnapshots } from './snapshots/index.ts'
import { createSite } from './snapshots/pages.ts'

export interface BuildMemory {
  readonly gather: GatherMemory
  readonly snapshotsOf: ReturnType<typeof createSnapshots>
  readonly siteOf: ReturnType<typeof createSite>
  readonly drawingsOf: ReturnType<typeof createSharedPages>
  readonly diffOf: (facts: LastFacts) => PublicDocument
  readonly lastFacts: LastFactsStore
  readonly vendored: () => Promise<readonly PublicDocument[]>
  readonly publish: PublishMemory
  readonly archive: ArchiveMemory
}

/** Everything is read, derived and rendered anew. */
export function emptyBuildMemory(options: {
  readonly dataDir: string
  readonly stateDir: string
}): BuildMemory {
  return {
    gather: emptyGatherMemory(options.dataDir),
    snapshotsOf: createSnapshots(),
    siteOf: createSite(),
    drawingsOf: createSharedPages(),
    diffOf: remembering((facts: LastFacts) => diffDocument(facts, maxAgeOf('getLatestDiff'))),
    lastFacts: createLastFacts(options.stateDir),
    vendored: createVendored(),
    publish: emptyMemory(),
    archive: emptyArchiveMemory(),
  }
}
