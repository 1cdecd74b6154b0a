/** Key records of the log: the keys of the service, the job exchange and the platforms. */
import { sha256Hex } from '../../src/auth/messages.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { queueEntries } from '../../src/db/log.ts'
import type { QueuedEntry } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { World } from '../world/world.ts'

/** Queues the keys of the world unless they were the last ones. What is logged already is not logged again. */
export async function logKeys(
  { write }: Pick<OpenDatabase, 'write'>,
  world: Pick<World, 'signingKeys' | 'exchange' | 'platforms'>,
  last: { sha256: string },
): Promise<void> {
  const entries = keyEntries(world)
  const sha256 = sha256Hex(canonicalize(entries))
  if (sha256 === last.sha256) return
  await write((tx) => queueEntries(tx, entries))
  last.sha256 = sha256
}

/** Oldest first for each owner. Hashed are owner and key, with `revoked_at` for a revocation. */
function keyEntries({
  signingKeys: { keys },
  exchange: { receiptsBy },
  platforms,
}: Pick<World, 'signingKeys' | 'exchange' | 'platforms'>): readonly QueuedEntry[] {
  const exchange = [receiptsBy, ...(receiptsBy.retired ?? [])].toReversed()
  return [
    ...keys.toReversed().map((key) => entryOf('activates', 'service', key)),
    ...exchange.map((key) => entryOf('activates', receiptsBy.platform, key)),
    ...platforms.flatMap(({ platform, public_key, revoked_at }) => [
      entryOf('activates', platform, { public_key }),
      ...(revoked_at === undefined
        ? []
        : [entryOf('revokes', platform, { public_key, revoked_at })]),
    ]),
  ]
}

function entryOf(
  event: 'activates' | 'revokes',
  owner: string,
  { public_key, revoked_at }: { readonly public_key: string; readonly revoked_at?: string },
): QueuedEntry {
  const record = { owner, public_key, ...(revoked_at === undefined ? {} : { revoked_at }) }
  const sha256 = sha256Hex(canonicalize(record))
  return { kind: 'key', id: sha256, sha256, subject: owner, extra: { event } }
}
