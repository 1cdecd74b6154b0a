/** Evidence lies beside the generations: a document never changes, so that only new ones are written. */
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { evidencePath } from '../../src/core/evidence.ts'
import {
  deleteEvidence,
  evidenceAfter,
  expiredEvidence,
  findEvidence,
} from '../../src/db/evidence.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { replaceFile } from '../../src/files/durable.ts'
import { namesIn } from './files.ts'

/**
 * On return, the files of all stored evidence are durable.
 * @param published `seq`: all documents up to this one have files; 0 if that is not known
 */
export async function publishEvidence(
  { reader }: Pick<OpenDatabase, 'reader'>,
  publicDir: string,
  published: { seq: number },
): Promise<void> {
  const dir = dirname(fileOf(publicDir, ''))
  await mkdir(dir, { recursive: true })
  const names = new Set(published.seq === 0 ? await namesIn(dir) : [])
  for (const { seq, sha256 } of await evidenceAfter(reader, published.seq)) {
    const body = names.has(`${sha256}.json`) ? null : await findEvidence(reader, sha256)
    if (body !== null) await replaceFile(fileOf(publicDir, sha256), Buffer.from(body), 0o644)
    published.seq = seq
  }
}

/** Files go before their rows, so that a run that was cut short leaves no file behind for good. */
export async function removeExpiredEvidence(
  { reader, write }: Pick<OpenDatabase, 'reader' | 'write'>,
  publicDir: string,
  now: string,
): Promise<void> {
  const expired = await expiredEvidence(reader, now)
  for (const sha256 of expired) await rm(fileOf(publicDir, sha256), { force: true })
  if (expired.length > 0) await write(async (tx) => await deleteEvidence(tx, expired))
}

function fileOf(publicDir: string, sha256: string): string {
  return join(publicDir, evidencePath(sha256))
}
