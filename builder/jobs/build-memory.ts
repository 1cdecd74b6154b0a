/** Results that later builds of this process reuse. Never stored: other code may derive other bytes. */
import { maxAgeOf } from '../../src/contract/routes.ts'
import { emptyArchiveMemory } from '../archive/archive.ts'
import { createLastFacts, diffDocument } from '../archive/last-facts.ts'
import type { LastFacts } from '../archive/last-facts.ts'
import { memoizeLatest } from '../cache/memoize.ts'
import { createArticles } from '../desk/weekly.ts'
import { createSnapshots } from '../documents/index.ts'
import { emptyMemory } from '../publish/publish.ts'
import { createSharedPages } from '../site/share.ts'
import { createSite } from '../site/site-documents.ts'
import { createVendored } from '../site/vendored.ts'
import { emptyGatherMemory } from '../world/gather.ts'
import type { World } from '../world/world.ts'

export type BuildMemory = ReturnType<typeof emptyBuildMemory>

export function emptyBuildMemory(options: { readonly dataDir: string }) {
  const last: { built: World | null } = { built: null }
  return {
    gather: emptyGatherMemory(options.dataDir),
    withArticles: createArticles(),
    snapshotsOf: createSnapshots(),
    siteOf: createSite(),
    drawingsOf: createSharedPages(),
    diffOf: memoizeLatest((facts: LastFacts) => diffDocument(facts, maxAgeOf('getLatestDiff'))),
    lastFacts: createLastFacts(),
    vendored: createVendored(),
    publish: emptyMemory(),
    evidence: { seq: 0 },
    authored: { sha256: '', commit: '' },
    archive: emptyArchiveMemory(),
    ...last,
  }
}
