/** Key records of the log: the keys of the service, the job exchange and the platforms. */
import { sha256Hex } from '../../src/auth/messages.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { activatedKey, revokedKey, queueEntries } from '../../src/db/log.ts'
import type { QueuedEntry } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { World } from '../world/world.ts'

type KeyWorld = Pick<World, 'signingKeys' | 'exchange' | 'platforms'>

/** Queues the keys of the world if they have changed. Records that are already logged are not logged again. */
export async function logKeys(
  { write }: Pick<OpenDatabase, 'write'>,
  world: KeyWorld,
  last: { sha256: string },
): Promise<void> {
  const entries = keyEntries(world)
  const sha256 = sha256Hex(canonicalize(entries))
  if (sha256 === last.sha256) return
  await write((tx) => queueEntries(tx, entries))
  last.sha256 = sha256
}

/** Oldest first for each owner. */
function keyEntries({ signingKeys: { keys }, exchange, platforms }: KeyWorld): QueuedEntry[] {
  const { platform: owner, retired = [], ...active } = exchange.receiptsBy
  return [
    ...keys.toReversed().map(({ public_key }) => activatedKey({ owner: 'service', public_key })),
    ...[active, ...retired]
      .toReversed()
      .map(({ public_key }) => activatedKey({ owner, public_key })),
    ...platforms.flatMap(({ platform, public_key, revoked_at }) => {
      const key = { owner: platform, public_key }
      return [activatedKey(key), ...(revoked_at === undefined ? [] : [revokedKey(key, revoked_at)])]
    }),
  ]
}
