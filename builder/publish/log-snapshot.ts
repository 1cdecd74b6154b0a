import { join } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import type { KeyRing } from '../../src/auth/service-keys.ts'
import {
  CURRENT_LINK,
  MANIFEST_FILE,
  MANIFEST_SIGNATURE_FILE,
  manifestSchema,
  parseManifestSignature,
} from '../../src/core/documents.ts'
import { queueEntries } from '../../src/db/log.ts'
import type { QueuedEntry } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { readIfExists } from '../../src/files/durable.ts'
import { readFitting } from './files.ts'

export function loggedSnapshot(sha256: string, version: number): QueuedEntry {
  return { kind: 'snapshot', id: sha256, sha256, subject: 'snapshot', extra: { version } }
}

/**
 * Queues the manifest in the public directory for the log unless it was the last one. Called before each publication too,
 * since a builder may have ended or failed after the one before. Sets in a bucket are queued with their row.
 */
export async function logSnapshot(
  { write }: Pick<OpenDatabase, 'write'>,
  publicDir: string,
  ring: KeyRing,
  last: { sha256: string },
): Promise<void> {
  const path = join(publicDir, CURRENT_LINK, MANIFEST_FILE)
  const bytes = await readIfExists(path)
  const sha256 = sha256Hex(bytes ?? '')
  if (bytes === null || sha256 === last.sha256) return
  const line = await readIfExists(join(publicDir, CURRENT_LINK, MANIFEST_SIGNATURE_FILE))
  const signed = parseManifestSignature(line?.toString() ?? '')
  // Publishing reports a damaged manifest.
  if (signed === null) return
  if (ring.verify(signed.kid, bytes, Buffer.from(signed.signature, 'base64')) !== 'good') return
  const manifest = await readFitting(path, manifestSchema)
  if (manifest === null) return
  await write((tx) => queueEntries(tx, [loggedSnapshot(sha256, manifest.version)]))
  last.sha256 = sha256
}
