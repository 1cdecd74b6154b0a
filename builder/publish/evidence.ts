/** Publishes evidence next to the sets. Its documents never change, so only new ones are written. */
import { immutable } from '../../src/core/documents.ts'
import { evidencePath } from '../../src/core/evidence.ts'
import { evidenceAfter, expiredEvidence, findEvidence } from '../../src/db/evidence.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { deleteRecords } from '../../src/db/records.ts'
import type { PublicFiles } from './store/store.ts'

const prefix = 'evidence/'
const headers = { 'content-type': 'application/json', 'cache-control': immutable }

/**
 * On return, the files of all stored evidence are durable.
 * @param published `seq`: all documents up to this one have files; 0 if that is not known
 */
export async function publishEvidence(
  { reader }: Pick<OpenDatabase, 'reader'>,
  files: PublicFiles,
  published: { seq: number },
): Promise<void> {
  const known = published.seq === 0 ? await files.list(prefix) : new Map<string, number>()
  for (const { seq, sha256 } of await evidenceAfter(reader, published.seq)) {
    const body = known.has(keyOf(sha256)) ? null : await findEvidence(reader, sha256)
    if (body !== null) await files.put(keyOf(sha256), Buffer.from(body), headers)
    published.seq = seq
  }
}

/** Deletes files before their rows, so that an interrupted run leaves no orphans. */
export async function removeExpiredEvidence(
  { reader, write }: Pick<OpenDatabase, 'reader' | 'write'>,
  files: PublicFiles,
  now: string,
): Promise<void> {
  const expired = await expiredEvidence(reader, now)
  for (const sha256 of expired) await files.remove(keyOf(sha256))
  if (expired.length === 0) return
  await write(async (tx) => {
    for (const sha256 of expired) await deleteRecords(tx, 'evidence', { sha256 })
  })
}

function keyOf(sha256: string): string {
  return evidencePath(sha256).slice(1)
}
