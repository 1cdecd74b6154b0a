/** The keys of a ledger belong to its database: both are created together, and none is replaced when only some are lost. */
import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'

import { loadExchangeKeys } from '../auth/exchange-keys.ts'
import { loadKeyedHash } from '../auth/keyed-hash.ts'
import { emptyCheckpoint, loadLogSigner, logKeyFile } from '../auth/notes.ts'
import { loadKeys, readKeys } from '../auth/service-keys.ts'
import type { Config } from '../config.ts'
import type { Clock, Fetch, Random } from '../core/deps.ts'
import { logPath } from '../core/tlog/paths.ts'
import { findCheckpoint, putCheckpoint } from '../db/log.ts'
import type { OpenDatabase } from '../db/open.ts'
import { UnusableFileError } from '../files/durable.ts'
import { publishedFiles } from './published-files.ts'

export type LedgerKeys = Awaited<ReturnType<typeof openLedgerKeys>>

/** Creates the keys of a new ledger, unless `KEYS=required`. @throws UnusableFileError, ObjectStoreError */
export async function openLedgerKeys(
  config: Pick<Config, 'DATA_DIR' | 'PUBLIC_DIR' | 'bucket' | 'KEYS'>,
  { reader, write }: Pick<OpenDatabase, 'reader' | 'write'>,
  runtime: { readonly clock: Clock; readonly random: Random; readonly fetch: Fetch },
) {
  const { DATA_DIR, PUBLIC_DIR, KEYS } = config
  const { clock, random } = runtime
  const dir = join(DATA_DIR, 'keys')
  const [path, draft] = [join(dir, logKeyFile), join(dir, `${logKeyFile}.new`)]
  const signed = await findCheckpoint(reader, 'signed')
  const maker = KEYS === 'create' && signed === null && !existsSync(path) ? random : null
  const published = logPath('checkpoint')
  if (maker !== null && (await publishedFiles(config, runtime).get(published)) !== null) {
    const [place, setting] = config.bucket
      ? [`${published} in the bucket`, 'PUBLISH_URL']
      : [join(PUBLIC_DIR, published), 'PUBLIC_DIR']
    throw new UnusableFileError(
      `${place} belongs to a ledger that has keys: restore its keys and database, or see DATA_DIR and ${setting}`,
    )
  }
  await (maker === null ? readKeys(dir) : loadKeys({ dir, nowMs: clock.now() }))
  await loadExchangeKeys(dir, maker)
  const hash = await loadKeyedHash(join(DATA_DIR, 'secrets'), maker)
  if (maker !== null) {
    await write(async (tx) => {
      // Another process may have been faster.
      if (existsSync(path) || (await findCheckpoint(tx, 'signed')) !== null) return
      const signer = await loadLogSigner(dir, maker, draft)
      await putCheckpoint(tx, 'signed', emptyCheckpoint(signer))
    })
  }
  // The rename follows the commit. If a crash prevents it, the next start renames the file.
  if ((maker ?? signed) !== null && !existsSync(path) && existsSync(draft))
    await rename(draft, path).catch(() => undefined)
  const log = await loadLogSigner(dir, null)
  if (signed?.note.startsWith(`${log.key.name}\n`) === false) {
    throw new UnusableFileError(
      `${path} belongs to another log than the database: restore the keys of this ledger, or see DATABASE_URL`,
    )
  }
  const exchange = async () => await loadExchangeKeys(dir, null)
  // The operator may rotate these files.
  return { dir, hash, log, exchange, signing: async () => await readKeys(dir) }
}
