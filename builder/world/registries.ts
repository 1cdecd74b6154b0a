/** Authored registries with what the database adds to them. */
import type { ListedPlatform, Platform } from '../../src/contract/schemas/platform.ts'
import { skill } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import { listProposals } from '../../src/db/feedback.ts'
import { revokedKey } from '../../src/db/log.ts'
import { findRecord } from '../../src/db/records.ts'
import type { Db } from '../../src/db/schema.ts'

/** Maximum number of accepted proposals: the taxonomy contains at most 5,000 skills. */
const maxAccepted = 4000

/** Authored skills, then accepted proposals by time; for the same slug the authored skill wins. */
export async function withAcceptedSkills(
  db: Db,
  authored: readonly Skill[],
): Promise<readonly Skill[]> {
  const known = new Set(authored.map(({ slug }) => slug))
  const accepted = await listProposals(db, 'accepted', maxAccepted)
  const added = accepted
    .filter(({ slug }) => !known.has(slug))
    .map((proposal) => skill.parse(proposal))
  return [...authored, ...added]
}

/** The platforms, with the log indexes of revocations. */
export async function gatherPlatforms(
  db: Db,
  platforms: readonly Platform[],
): Promise<readonly ListedPlatform[]> {
  return await Promise.all(
    platforms.map(async (one) => {
      const { platform: owner, public_key, revoked_at } = one
      if (revoked_at === undefined) return one
      const entryId = revokedKey({ owner, public_key }, revoked_at).id
      const logged = await findRecord(db, 'log_entries', { kind: 'key', entryId })
      return logged === null ? one : { ...one, revoked_index: logged.position }
    }),
  )
}
