import { join } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import { CURRENT_LINK, MANIFEST_FILE, manifestSchema } from '../../src/core/documents.ts'
import { queueEntries } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { readIfExists } from '../../src/files/durable.ts'
import { readFitting } from './files.ts'

/**
 * Queues the published manifest for the log unless it was the last one. Called after each publication, and before the
 * first one of a process, whose predecessor may have ended in between.
 */
export async function logSnapshot(
  { write }: Pick<OpenDatabase, 'write'>,
  publicDir: string,
  last: { sha256: string },
): Promise<void> {
  const path = join(publicDir, CURRENT_LINK, MANIFEST_FILE)
  const manifest = await readFitting(path, manifestSchema)
  const bytes = await readIfExists(path)
  // Publishing reports a damaged manifest.
  if (manifest === null || bytes === null) return
  const sha256 = sha256Hex(bytes)
  if (sha256 === last.sha256) return
  const { version } = manifest
  const entry = { kind: 'snapshot', id: sha256, sha256, subject: 'snapshot' } as const
  await write((tx) => queueEntries(tx, [{ ...entry, extra: { version } }]))
  last.sha256 = sha256
}
