import type { ListedPlatform, Platform } from '../../src/contract/schemas/platform.ts'
import { revokedKey } from '../../src/db/log-keys.ts'
import { findLogged } from '../../src/db/log.ts'
import type { Db } from '../../src/db/schema.ts'

/** The registry, with the log indexes of revocations. */
export async function gatherPlatforms(
  db: Db,
  platforms: readonly Platform[],
): Promise<readonly ListedPlatform[]> {
  return await Promise.all(
    platforms.map(async (one) => {
      const { platform: owner, public_key, revoked_at } = one
      if (revoked_at === undefined) return one
      const logged = await findLogged(db, 'key', revokedKey({ owner, public_key }, revoked_at).id)
      return logged === null ? one : { ...one, revoked_index: logged.position }
    }),
  )
}
