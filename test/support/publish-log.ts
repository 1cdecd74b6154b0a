import { createLedgerLog } from '../../builder/log/log.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { emptyCheckpoint } from '../../src/auth/notes.ts'
import type { NoteSigner } from '../../src/auth/notes.ts'
import { findCheckpoint, putCheckpoint } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { quietLog } from './quiet-log.ts'

/** Makes a database know the log, as the start of a new ledger does. */
export async function beginLog({ reader, write }: OpenDatabase, signer: NoteSigner): Promise<void> {
  if ((await findCheckpoint(reader, 'signed')) !== null) return
  await write((tx) => putCheckpoint(tx, 'signed', emptyCheckpoint(signer)))
}

/** Logs what the service has queued, as the builder does, and publishes the log in `publicDir`. */
export async function publishLog(
  { database, ledgerLog: { signer }, clock }: InstalledDeps,
  publicDir: string,
): Promise<void> {
  const files = createDirectory({ publicDir, fence: 1, check: () => Promise.resolve() })
  await beginLog(database, signer)
  const askSizes = () => Promise.resolve([])
  await createLedgerLog({ database, files, signer, clock, log: quietLog, askSizes }).grow()
}
