import { createLedgerLog } from '../../builder/log/log.ts'
import type { LedgerLog, LedgerLogDeps } from '../../builder/log/log.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import type { SetStore } from '../../builder/publish/store/store.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { emptyCheckpoint } from '../../src/auth/notes.ts'
import type { NoteSigner } from '../../src/auth/notes.ts'
import { findCheckpoint, putCheckpoint } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { systemClock } from '../../src/runtime/runtime.ts'
import { quietLog } from './quiet-log.ts'

/** Makes a database know the log, as the start of a new ledger does. */
export async function beginLog({ reader, write }: OpenDatabase, signer: NoteSigner): Promise<void> {
  if ((await findCheckpoint(reader, 'signed')) !== null) return
  await write((tx) => putCheckpoint(tx, 'signed', emptyCheckpoint(signer)))
}

/** A directory of published files without a lease. */
export function localDirectory(publicDir: string): SetStore {
  return createDirectory({ publicDir, fence: 1, check: () => Promise.resolve() })
}

/** A directory that lists the files that were written to it one by one. */
export function recordingDirectory(publicDir: string) {
  const directory = localDirectory(publicDir)
  const written: Parameters<typeof directory.put>[] = []
  const put = (...file: (typeof written)[number]) => {
    written.push(file)
    return directory.put(...file)
  }
  return { files: { ...directory, put }, written }
}

/** A log without witnesses. */
export function localLog(
  deps: Pick<LedgerLogDeps, 'database' | 'files' | 'signer'> & Partial<LedgerLogDeps>,
): LedgerLog {
  const askSizes = () => Promise.resolve([])
  return createLedgerLog({ clock: systemClock, log: quietLog, askSizes, ...deps })
}

/** Logs what the service has queued, as the builder does, and publishes the log in `publicDir`. */
export async function publishLog(
  { database, ledgerLog: { signer }, clock }: InstalledDeps,
  publicDir: string,
): Promise<void> {
  await beginLog(database, signer)
  await localLog({ database, files: localDirectory(publicDir), signer, clock }).grow()
}
