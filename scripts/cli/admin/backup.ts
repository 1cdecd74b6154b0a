/** `admin backup`: a copy of the database with a manifest of its hash and rows. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { sql } from 'kysely'
import { z } from 'zod'

import { prettySorted } from '../../../src/core/canonical-json.ts'
import { isoTime } from '../../../src/core/time.ts'
import { migrations } from '../../../src/db/migrations.ts'
import { syncFile } from '../../../src/files/durable.ts'
import { fileExists, writeNewFile } from '../files.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import type { Session } from '../session.ts'
import { rowCounts, withPlainFile } from './integrity.ts'
import { logAct, requireFile, settingsOf, withDatabase } from './settings.ts'

export const backupManifest = z.strictObject({
  created_at: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().min(0),
  /** Names of the migrations. */
  schema: z.array(z.string()),
  rows: z.record(z.string(), z.int().min(0)),
})
export type BackupManifest = z.infer<typeof backupManifest>

export function manifestPath(file: string): string {
  return `${file}.manifest.json`
}

/**
 * Copies the database at one moment with `vacuum into`, while writes continue. The copy contains no keys, since they
 * need a safer place.
 */
export async function backUp(session: Session, input: Input): Promise<void> {
  const file = resolve(input.required('file'))
  if (fileExists(file)) throw new UsageError(`${file} already exists`)
  const { DATA_DIR, PUBLIC_DIR, PUBLISH_URL } = settingsOf(session)
  requireFile(settingsOf(session))
  await withDatabase(session, async (database, config) => {
    try {
      await sql`vacuum into ${file}`.execute(database.db)
    } catch (error) {
      await rm(file, { force: true })
      const reason = error instanceof Error ? error.message : String(error)
      throw new UsageError(`${file} cannot be written: ${reason}`)
    }
    await chmod(file, 0o600)
    await syncFile(file)
    await logAct(session, config, { command: 'backup', subject: file })
  })
  const manifest = await describe(session, file)
  writeNewFile(manifestPath(file), prettySorted(manifest), 0o600)
  await syncFile(dirname(file))
  const log = PUBLISH_URL === null ? join(PUBLIC_DIR, 'log') : 'log/ in the bucket'
  const keep_too = [join(DATA_DIR, 'keys'), join(DATA_DIR, 'secrets'), log]
  session.print({ file, ...manifest, keep_too })
}

async function describe(session: Session, file: string): Promise<BackupManifest> {
  const rows = await withPlainFile(file, 'read-only', rowCounts)
  return {
    created_at: isoTime(session.clock.now()),
    sha256: await sha256Of(file),
    size: (await stat(file)).size,
    schema: migrations.map(({ name }) => name),
    rows,
  }
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
