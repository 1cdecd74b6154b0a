/** Key records of the log. */
import { sha256Hex } from '../auth/messages.ts'
import { canonicalize } from '../core/canonical-json.ts'
import type { QueuedEntry } from './log.ts'

export interface OwnedKey {
  /** `service`, the slug of a platform or the wallet of a worker. */
  readonly owner: string
  readonly public_key: string
}

/** `from`: a worker may return to an earlier key. */
export function activatedKey({ owner, public_key }: OwnedKey, from?: string): QueuedEntry {
  const sha256 = sha256Hex(canonicalize({ owner, public_key }))
  const id = from === undefined ? sha256 : `${sha256} ${from}`
  return { kind: 'key', id, sha256, subject: owner, extra: { event: 'activates' } }
}

export function revokedKey({ owner, public_key }: OwnedKey, revoked_at: string): QueuedEntry {
  const sha256 = sha256Hex(canonicalize({ owner, public_key, revoked_at }))
  return { kind: 'key', id: sha256, sha256, subject: owner, extra: { event: 'revokes' } }
}
