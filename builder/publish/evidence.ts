/** Evidence lies beside the generations: a document never changes, so that only new ones are written. */
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { evidencePath } from '../../src/core/evidence.ts'
import { deleteExpiredEvidence, evidenceAfter, findEvidence } from '../../src/db/evidence.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { replaceFile } from '../../src/files/durable.ts'
import { namesIn } from './files.ts'

/**
 * On return, the files of all stored evidence are durable.
 * @param published `seq`: all documents up to this one have files; 0 if that is not known
 */
export async function publishEvidence(
  { reader, write }: Pick<OpenDatabase, 'reader' | 'write'>,
  publicDir: string,
  now: string,
  published: { seq: number },
): Promise<void> {
  const fileOf = (sha256: string) => join(publicDir, evidencePath(sha256))
  const dir = dirname(fileOf(''))
  await mkdir(dir, { recursive: true })
  for (const sha256 of await write((tx) => deleteExpiredEvidence(tx, now)))
    await rm(fileOf(sha256), { force: true })
  const names = new Set(published.seq === 0 ? await namesIn(dir) : [])
  for (const { seq, sha256 } of await evidenceAfter(reader, published.seq)) {
    const body = names.has(`${sha256}.json`) ? null : await findEvidence(reader, sha256)
    if (body !== null) await replaceFile(fileOf(sha256), Buffer.from(body), 0o644)
    published.seq = seq
  }
}
