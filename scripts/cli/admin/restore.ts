/** `admin restore`: replaces the database with a backup, while no service runs. */
import { copyFile, link, readFile, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { check } from '../../../src/core/check.ts'
import type { Check } from '../../../src/core/check.ts'
import { strictJsonOrNull } from '../../../src/core/strict-json.ts'
import { isoTime } from '../../../src/core/time.ts'
import { setRestoredAt } from '../../../src/db/meta.ts'
import type { Database } from '../../../src/db/schema.ts'
import { syncFile } from '../../../src/files/durable.ts'
import { fileExists } from '../files.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { exitCodes, printChecks } from '../output.ts'
import type { Session } from '../session.ts'
import { backupManifest, manifestPath, sha256Of } from './backup.ts'
import { examineBackup, withPlainFile } from './integrity.ts'
import { changeDatabase, logAct, requireFile, settingsOf } from './settings.ts'

/**
 * Checks the backup, copies it next to the database, records the time of the restore, flushes the copy and renames it.
 * After a crash the file is either the old database or the new one. The old file remains under another name.
 */
export async function restore(session: Session, input: Input): Promise<number> {
  const config = settingsOf(session)
  const path = resolve(requireFile(config))
  const backup = resolve(input.required('file'))
  const findings = [await checkManifest(backup), ...(await examineBackup(backup))]
  if (findings.some(({ good }) => !good)) return printChecks(session, { backup }, findings)

  const exists = fileExists(path)
  const nowMs = session.clock.now()
  const kept = exists ? `${path}.before-restore-${nowMs}` : null
  const replace = async (): Promise<void> => {
    const draft = `${path}.restoring-${nowMs}`
    await copyFile(backup, draft)
    await withPlainFile(draft, 'read-write', async (db) => {
      await setRestoredAt(db, isoTime(session.clock.now()))
      // The file must be in WAL mode before the service starts, so that other processes can read it.
      await sql`pragma journal_mode = wal`.execute(db)
    })
    await syncFile(draft)
    if (kept !== null) await setAside(path, kept)
    await rename(draft, path)
    await syncFile(dirname(path))
  }
  await (exists ? withExclusiveLock(path, input.flag('damaged'), replace) : replace())
  await logAct(session, config, { command: 'restore', subject: backup })
  session.print({ restored: path, from: backup, kept_as: kept })
  session.warn(
    'Signed writes are refused for five minutes, to prevent replays of writes from before the restore.\n',
  )
  return exitCodes.ok
}

/** For PostgreSQL, after its own tools have restored it. */
export async function markRestored(session: Session): Promise<number> {
  const restoredAt = isoTime(session.clock.now())
  const act = { command: 'restored', subject: 'the database' }
  return await changeDatabase(session, act, '', async (tx) => {
    await setRestoredAt(tx, restoredAt)
    return { restored_at: restoredAt }
  })
}

async function checkManifest(backup: string): Promise<Check> {
  const what = 'manifest of the backup'
  const path = manifestPath(backup)
  const bytes = await readFile(path).catch(() => null)
  if (bytes === null) return check(what, false, `${path} cannot be read`)
  const { data } = backupManifest.safeParse(strictJsonOrNull(bytes))
  if (data === undefined) return check(what, false, 'is not the manifest of a backup')
  if (!fileExists(backup)) return check(what, false, 'the backup is missing')
  const isSame = (await sha256Of(backup)) === data.sha256
  return check(what, isSame, `created ${data.created_at}`, 'the file has a different SHA-256')
}

/**
 * Runs `work` while no other process can open the database. Leaving WAL mode succeeds only without other connections.
 * @throws UsageError if the file is in use, or if it is unreadable and `damaged` is false
 */
async function withExclusiveLock(
  path: string,
  damaged: boolean,
  work: () => Promise<void>,
): Promise<void> {
  let locked = false
  try {
    await withPlainFile(path, 'read-write', async (db) => {
      await lockExclusively(db)
      locked = true
      await work()
    })
  } catch (error) {
    if (locked || error instanceof UsageError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    if (/SQLITE_BUSY|database is locked|lock/i.test(reason))
      throw new UsageError(`${path} is in use: stop the service and the builder first`)
    if (!damaged) {
      throw new UsageError(`${path} cannot be read (${reason}): stop the service and add --damaged`)
    }
    await work()
  }
}

async function lockExclusively(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql<{ journal_mode: string }>`pragma journal_mode = delete`.execute(db)
  if (rows[0]?.journal_mode !== 'delete') throw new UsageError('the database is in use')
  await sql`pragma locking_mode = exclusive`.execute(db)
  await sql`begin exclusive`.execute(db)
}

/** A link instead of a rename, so that a database exists at every moment. */
async function setAside(path: string, kept: string): Promise<void> {
  await link(path, kept)
  // SQLite would apply the log of the old file to the new one.
  if (fileExists(`${path}-wal`)) await rename(`${path}-wal`, `${kept}-wal`)
  await rm(`${path}-shm`, { force: true })
}
