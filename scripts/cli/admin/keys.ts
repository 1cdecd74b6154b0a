import { join } from 'node:path'

import { issuerOf, loadExchangeKeys, rotateExchangeKey } from '../../../src/auth/exchange-keys.ts'
import { loadKeyFile } from '../../../src/auth/key-file.ts'
import { loadKeyedHash } from '../../../src/auth/keyed-hash.ts'
import { logKeyFile } from '../../../src/auth/notes.ts'
import {
  OWNER_ONLY,
  SIGNING_KEYS_FILE,
  loadKeys,
  newKey,
  openKeys,
  readKeyFile,
  serialise,
} from '../../../src/auth/service-keys.ts'
import type { KeyFile, Keys } from '../../../src/auth/service-keys.ts'
import { isoTime } from '../../../src/core/time.ts'
import { LockedError, withFileLock } from '../../../src/db/sqlite3/file-lock.ts'
import { replaceFile } from '../../../src/files/durable.ts'
import { keyMakerOf } from '../../../src/runtime/runtime.ts'
import { UsageError } from '../input.ts'
import { table } from '../output.ts'
import type { Session } from '../session.ts'
import { logAct, settingsOf } from './settings.ts'

const columns = ['kid', 'status', 'created_at', 'retired_at', 'public_key']

export async function listKeys(session: Session): Promise<void> {
  const { publicKeys } = await orUsageError(loadKeys(keysOf(session)))
  session.print(publicKeys, table(columns, publicKeys.keys))
}

/** Creates missing keys, even with KEYS=required, and replaces nothing. */
export async function createKeys(session: Session): Promise<void> {
  const { dir, nowMs } = keysOf(session)
  const { DATA_DIR } = settingsOf(session)
  const { publicKeys, signer } = await orUsageError(loadKeys({ dir, nowMs }))
  await orUsageError(loadExchangeKeys(dir, session.random))
  await orUsageError(loadKeyFile(join(dir, logKeyFile), session.random))
  await orUsageError(loadKeyedHash(join(DATA_DIR, 'secrets'), session.random))
  await logAct(session, settingsOf(session), { command: 'keys create', subject: signer.kid })
  session.print(publicKeys, table(columns, publicKeys.keys))
}

export async function rotateSigningKey(session: Session): Promise<void> {
  const { publicKeys, signer } = await orUsageError(rotateKey(keysOf(session)))
  await logAct(session, settingsOf(session), { command: 'keys rotate', subject: signer.kid })
  session.print(publicKeys, table(columns, publicKeys.keys))
  session.warn('A running builder signs with the new key from its next build, within a minute.\n')
}

/** Retires the active key, which running processes use until they reload. @throws LockedError */
export async function rotateKey(options: {
  readonly dir: string
  readonly nowMs: number
  readonly keys?: 'create' | 'required'
}): Promise<Keys> {
  await loadKeys(options)
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
  const { dir, nowMs } = keysOf(session)
  const { random } = session
  await orUsageError(loadExchangeKeys(dir, keyMakerOf(settingsOf(session))))
  const issuer = issuerOf(await orUsageError(rotateExchangeKey(dir, { random, nowMs })))
  const act = { command: 'keys rotate-exchange', subject: issuer.public_key }
  await logAct(session, settingsOf(session), act)
  session.print(issuer)
}

function keysOf(session: Session) {
  const { DATA_DIR, KEYS: keys } = settingsOf(session)
  return { dir: join(DATA_DIR, 'keys'), nowMs: session.clock.now(), keys }
}

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
