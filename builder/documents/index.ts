import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { communityDocuments, jobDocuments, partnerDocuments } from './community.ts'
import { deskDocuments } from './desk.ts'
import { disputeDocuments } from './disputes.ts'
import type { SnapshotFamily } from './document.ts'
import { flagDocuments } from './flags.ts'
import { historyDocuments } from './history.ts'
import { opportunityDocuments } from './opportunities.ts'
import { pactDocuments } from './pacts.ts'
import { railDocuments } from './rails.ts'
import { ruleDocuments } from './rules.ts'
import { siteDocuments } from './site.ts'
import { skillDocuments } from './skills.ts'
import { statsDocuments } from './stats.ts'
import { x402Documents } from './x402.ts'

/** Every family of documents. The publisher adds the manifest and the diff. */
const snapshotFamilies: readonly SnapshotFamily[] = [
  statsDocuments,
  railDocuments,
  historyDocuments,
  opportunityDocuments,
  communityDocuments,
  jobDocuments,
  partnerDocuments,
  skillDocuments,
  pactDocuments,
  flagDocuments,
  disputeDocuments,
  ruleDocuments,
  deskDocuments,
  siteDocuments,
  x402Documents,
]

/** Returns a function for successive worlds that builds a family again only if a part it declares has changed. */
export function createSnapshots(): (world: World) => readonly PublicDocument[] {
  const families = snapshotFamilies.map((family) => family())
  return (world) => families.flatMap((family) => family(world))
}
