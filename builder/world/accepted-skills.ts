import type { Kysely } from 'kysely'

import { skill } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import { listProposals } from '../../src/db/proposals.ts'
import type { Database } from '../../src/db/schema.ts'

/** Maximum number of accepted proposals: the taxonomy contains at most 5,000 skills. */
const maxAccepted = 4000

/** Authored skills, then accepted proposals by time; for the same slug the authored skill wins. */
export async function withAcceptedSkills(
  db: Kysely<Database>,
  authored: readonly Skill[],
): Promise<readonly Skill[]> {
  const known = new Set(authored.map(({ slug }) => slug))
  const accepted = await listProposals(db, 'accepted', maxAccepted)
  const added = accepted
    .filter(({ slug }) => !known.has(slug))
    .map((proposal) => skill.parse(proposal))
  return [...authored, ...added]
}
