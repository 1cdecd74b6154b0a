import { join } from 'node:path'

import { issuerOf, rotateExchangeKey } from '../../../src/auth/exchange-keys.ts'
import {
  OWNER_ONLY,
  SIGNING_KEYS_FILE,
  newKey,
  openKeys,
  readKeyFile,
  readKeys,
  serialise,
} from '../../../src/auth/service-keys.ts'
import type { KeyFile, Keys } from '../../../src/auth/service-keys.ts'
import { isoTime } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { LockedError, withFileLock } from '../../../src/db/sqlite3/file-lock.ts'
import { replaceFile } from '../../../src/files/durable.ts'
import { openLedgerKeys } from '../../../src/runtime/keys.ts'
import { UsageError } from '../input.ts'
import { table } from '../output.ts'
import type { Session } from '../session.ts'
import { logAct, settingsOf } from './settings.ts'

const columns = ['kid', 'status', 'created_at', 'retired_at', 'public_key']

export async function listKeys(session: Session): Promise<void> {
  const { publicKeys } = await orUsageError(readKeys(dirOf(session)))
  session.print(publicKeys, table(columns, publicKeys.keys))
}

/** Creates the keys of a new ledger, even with KEYS=required, and its database; replaces nothing. */
export async function createKeys(session: Session): Promise<void> {
  const config = settingsOf(session)
  const database = await orUsageError(openDatabase(config.database))
  const opening = openLedgerKeys({ ...config, KEYS: 'create' }, database, session)
  const { signing } = await orUsageError(opening).finally(() => void database.close())
  const { publicKeys, signer } = await signing()
  await logAct(session, config, { command: 'keys create', subject: signer.kid })
  session.print(publicKeys, table(columns, publicKeys.keys))
}

export async function rotateSigningKey(session: Session): Promise<void> {
  const { publicKeys, signer } = await orUsageError(
    rotateKey({ dir: dirOf(session), nowMs: session.clock.now() }),
  )
  await logAct(session, settingsOf(session), { command: 'keys rotate', subject: signer.kid })
  session.print(publicKeys, table(columns, publicKeys.keys))
  session.warn('A running builder signs with the new key from its next build, within a minute.\n')
}

/** Retires the active key, which running processes use until they reload. @throws LockedError */
export async function rotateKey(options: {
  readonly dir: string
  readonly nowMs: number
}): Promise<Keys> {
  await readKeys(options.dir)
  const path = join(options.dir, SIGNING_KEYS_FILE)
  return await withFileLock(`${path}.lock`, async () => {
    const { active, retired } = await readKeyFile(path)
    const { private_key_pem: _, ...published } = active
    const old = { ...published, retired_at: isoTime(options.nowMs) }
    const next: KeyFile = { active: newKey(options.nowMs, active), retired: [old, ...retired] }
    await replaceFile(path, serialise(next), OWNER_ONLY)
    return openKeys(next)
  })
}

export async function rotateExchange(session: Session): Promise<void> {
  const { random, clock } = session
  const rotated = rotateExchangeKey(dirOf(session), { random, nowMs: clock.now() })
  const issuer = issuerOf(await orUsageError(rotated))
  const act = { command: 'keys rotate-exchange', subject: issuer.public_key }
  await logAct(session, settingsOf(session), act)
  session.print(issuer)
}

const dirOf = (session: Session) => join(settingsOf(session).DATA_DIR, 'keys')

/** Errors of key files become usage errors. These errors never contain the key. */
async function orUsageError<T>(keys: Promise<T>): Promise<T> {
  try {
    return await keys
  } catch (error) {
    if (error instanceof LockedError) throw new UsageError('another rotation is in progress')
    if (error instanceof Error && !('code' in error)) throw new UsageError(error.message)
    throw error
  }
}
