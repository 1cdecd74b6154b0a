/** Signing keys of the service. */
import { join } from 'node:path'

import { loadKeys, rotateKey } from '../../../builder/publish/keys.ts'
import { LockedError } from '../../../builder/publish/lock.ts'
import { issuerOf, rotateExchangeKey } from '../../../src/auth/exchange-keys.ts'
import { UsageError } from '../input.ts'
import { table } from '../output.ts'
import type { Session } from '../session.ts'
import { recordAct, settingsOf } from './settings.ts'

const columns = ['kid', 'status', 'created_at', 'retired_at', 'public_key']

export async function list(session: Session): Promise<void> {
  const { publicKeys } = await usable(loadKeys(place(session)))
  session.print(publicKeys, table(columns, publicKeys.keys))
}

export async function rotate(session: Session): Promise<void> {
  const { publicKeys, signer } = await usable(rotateKey(place(session)))
  await recordAct(session, settingsOf(session), { command: 'keys rotate', subject: signer.kid })
  session.print(publicKeys, table(columns, publicKeys.keys))
  session.warn(
    'A running builder signs with the new key from its next build on, within a minute.\n',
  )
}

/** The key of the job exchange: services and builders that run take up the new one by themselves. */
export async function rotateExchange(session: Session): Promise<void> {
  const { dir, nowMs } = place(session)
  const { random } = session
  const issuer = issuerOf(await usable(rotateExchangeKey(dir, { random, nowMs })))
  await recordAct(session, settingsOf(session), {
    command: 'keys rotate-exchange',
    subject: issuer.public_key,
  })
  session.print(issuer)
}

function place(session: Session) {
  return { dir: join(settingsOf(session).DATA_DIR, 'keys'), nowMs: session.clock.now() }
}

/** What is wrong with a key file is said in its error, which holds no key. */
async function usable<T>(keys: Promise<T>): Promise<T> {
  try {
    return await keys
  } catch (error) {
    if (error instanceof LockedError) throw new UsageError('another rotation is under way')
    if (error instanceof Error && !('code' in error)) throw new UsageError(error.message)
    throw error
  }
}
