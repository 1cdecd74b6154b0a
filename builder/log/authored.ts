/** Entries of authored data: the keys of the service, the job exchange and the platforms; platforms and articles. */
import { sha256Hex } from '../../src/auth/messages.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { activatedKey, revokedKey, queueEntries } from '../../src/db/log.ts'
import type { QueuedEntry } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'

type KeyWorld = Pick<World, 'signingKeys' | 'exchange' | 'platforms'>

/** Queues the entries if one of them has changed. Those that are already logged are not logged again. */
export async function logAuthored(
  { write }: Pick<OpenDatabase, 'write'>,
  world: KeyWorld,
  documents: readonly Pick<PublicDocument, 'path' | 'body'>[],
  last: { sha256: string },
): Promise<void> {
  const entries = [
    ...world.platforms.map(({ revoked_index: _, ...row }) =>
      version('platform', row.platform, canonicalize(row)),
    ),
    ...documents.flatMap(({ path, body }) => {
      const slug = /^\/desk\/([a-z0-9-]+)\.md$/.exec(path)?.[1]
      return slug === undefined || !('text' in body) ? [] : [version('article', slug, body.text)]
    }),
    ...keyEntries(world),
  ]
  const sha256 = sha256Hex(canonicalize(entries))
  if (sha256 === last.sha256) return
  await write((tx) => queueEntries(tx, entries))
  last.sha256 = sha256
}

function version(kind: 'platform' | 'article', subject: string, text: string): QueuedEntry {
  const sha256 = sha256Hex(text)
  return { kind, id: `${subject} ${sha256}`, sha256, subject }
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
