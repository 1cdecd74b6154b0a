import { createLedgerLog } from '../../builder/log/log.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { quietLog } from './quiet-log.ts'

/** Logs what the service has queued, as the builder does, and publishes the log in `publicDir`. */
export async function publishLog(
  { database, ledgerLog: { signer }, clock }: InstalledDeps,
  publicDir: string,
): Promise<void> {
  const files = createDirectory({ publicDir, fence: 1, check: () => Promise.resolve() })
  const askSizes = () => Promise.resolve([])
  await createLedgerLog({ database, files, signer, clock, log: quietLog, askSizes }).grow()
}
