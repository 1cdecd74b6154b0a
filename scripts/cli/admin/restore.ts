/** `admin restore`: replaces the database by a backup, while no service runs. */
import { copyFile, link, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { syncDirectory } from '../../../builder/publish/files.ts'
import type { Check } from '../../../src/core/check.ts'
import { isErrno } from '../../../src/core/errno.ts'
import { isoTime } from '../../../src/core/time.ts'
import { setRestoredAt } from '../../../src/db/restored.ts'
import type { Database } from '../../../src/db/schema.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { exitCodes, printChecks } from '../output.ts'
import type { Session } from '../session.ts'
import { backupManifest, flush, manifestPath, sha256Of } from './backup.ts'
import { examineBackup, withPlainFile } from './integrity.ts'
import { databasePath, logAct, settingsOf } from './settings.ts'

/**
 * Checks the backup, copies it beside the database, marks it with the time, flushes it and renames it into place: a crash
 * leaves either the old database or the new one. The old file is kept under another name.
 */
export async function restore(session: Session, input: Input): Promise<number> {
  const config = settingsOf(session)
  const backup = resolve(input.operand('file'))
  const findings = [await checkManifest(backup), ...(await examineBackup(backup))]
  if (findings.some(({ good }) => !good)) return printChecks(session, { backup }, findings)

  const path = resolve(databasePath(config))
  const exists = await isThere(path)
  const nowMs = session.clock.now()
  const kept = exists ? `${path}.before-restore-${nowMs}` : null
  const replace = async (): Promise<void> => {
    const draft = `${path}.restoring-${nowMs}`
    await copyFile(backup, draft)
    await withPlainFile(draft, 'read-write', async (db) => {
      await setRestoredAt(db, isoTime(session.clock.now()))
      // The mode that the service uses, so that others can read the file before it starts.
      await sql`pragma journal_mode = wal`.execute(db)
    })
    await flush(draft)
    if (kept !== null) await setAside(path, kept)
    await rename(draft, path)
    await syncDirectory(dirname(path))
  }
  await (exists ? withExclusiveLock(path, input.flag('damaged'), replace) : replace())
  await logAct(session, config, { command: 'restore', subject: backup })
  session.print({ restored: path, from: backup, kept_as: kept })
  session.warn(
    'Signed writes are refused for five minutes, to prevent replays of writes from before the restore.\n',
  )
  return exitCodes.ok
}

async function checkManifest(backup: string): Promise<Check> {
  const what = 'manifest of the backup'
  let text: string
  try {
    text = await readFile(manifestPath(backup), 'utf8')
  } catch {
    return { what, good: false, detail: `${manifestPath(backup)} cannot be read` }
  }
  const manifest = backupManifest.safeParse(parseJsonOrNull(text))
  if (!manifest.success) return { what, good: false, detail: 'is not the manifest of a backup' }
  if (!(await isThere(backup))) return { what, good: false, detail: 'the backup is missing' }
  const good = (await sha256Of(backup)) === manifest.data.sha256
  return {
    what,
    good,
    detail: good ? `made ${manifest.data.created_at}` : 'the file has a different SHA-256',
  }
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/**
 * Runs `work` while no other process can open the database. Leaving WAL mode succeeds only without other connections.
 * @throws UsageError where the file is in use, or is unreadable and `damaged` is false.
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
    if (/SQLITE_BUSY|database is locked|lock/i.test(reason)) throw inUse(path)
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

function inUse(path: string): UsageError {
  return new UsageError(`${path} is in use: stop the service and the builder first`)
}

/** Links the old file under another name, so that there is a database at every moment. */
async function setAside(path: string, kept: string): Promise<void> {
  await link(path, kept)
  // The log of the old file must not be applied to the new one.
  await rename(`${path}-wal`, `${kept}-wal`).catch(ignoreMissing)
  await rm(`${path}-shm`, { force: true })
}

function ignoreMissing(error: unknown): void {
  if (!isErrno(error, 'ENOENT')) throw error
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null
}
