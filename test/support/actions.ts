import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { InstalledDeps } from '../../src/actions/deps.ts'
import { loadReference } from '../../src/actions/reference.ts'
import { checkHere } from '../../src/auth/check.ts'
import { keyedHashOf } from '../../src/auth/keyed-hash.ts'
import { noteSigner } from '../../src/auth/notes.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import type { Clock, Log } from '../../src/core/deps.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { EmailMessage } from '../../src/mail/mail.ts'
import { createPinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { databaseAt, dropDatabase, newDatabaseIn } from './new-database.ts'
import { neverLogKey } from './no-secrets.ts'

export interface TestActions extends InstalledDeps {
  readonly nudges: () => number
  /** Empty if the test replaces `mail`. */
  readonly emails: readonly EmailMessage[]
  readonly close: () => Promise<void>
}

type Area = 'site' | 'signatures' | 'keys' | 'ledgerLog' | 'outbound'

export type ActionChanges = Partial<Omit<InstalledDeps, Area>> & {
  readonly [K in Area]?: Partial<InstalledDeps[K]>
}

let reference: ReturnType<typeof loadReference> | undefined

const newKey = () => {
  const key = randomBytes(32)
  neverLogKey(key)
  return key
}
const answerKey = signingKeyFromSeed(newKey())
const answerSigner = {
  kid: answerKey.kid,
  sign: (bytes: Uint8Array) => signBytes(answerKey, bytes),
}
const exchangeKeys = { active: signingKeyFromSeed(newKey()), retired: [] }
const logSigner = noteSigner('ledger.test/log', signingKeyFromSeed(newKey()))

/** Dependencies of actions, with a real database and the authored files. */
export async function testActions(given: {
  readonly clock: Clock
  readonly log: Log
  readonly databasePath?: string | undefined
  readonly changes?: ActionChanges | undefined
}): Promise<TestActions> {
  const { clock, log, databasePath, changes = {} } = given
  const folder = databasePath === undefined ? await mkdtemp(join(tmpdir(), 'ledger-writes-')) : null
  const url = await (folder === null ? databaseAt(databasePath ?? '') : newDatabaseIn(folder))
  const database = await openDatabase({ url })
  reference ??= loadReference('data')
  const authored = await reference
  let nudges = 0
  const emails: EmailMessage[] = []
  return {
    // Services count alone, by the clock of the test. Replicas share limits in test/limits/shared-limits.test.ts.
    database: { ...database, shared: null },
    clock,
    random: { bytes: (length) => randomBytes(length), unit: () => 0.5 },
    log,
    reference: () => authored,
    payments: { mode: 'off', receiver: null, problems: () => [] },
    requestBuild: () => {
      nudges += 1
    },
    ...changes,
    site: {
      url: 'https://ledger.test',
      serviceName: 'agent-income-ledger',
      isDemo: false,
      ...changes.site,
    },
    signatures: { walletChain: () => undefined, check: checkHere, ...changes.signatures },
    keys: {
      hash: keyedHashOf(newKey()),
      exchange: () => exchangeKeys,
      answers: () => answerSigner,
      ...changes.keys,
    },
    ledgerLog: {
      signer: logSigner,
      witnesses: { witnesses: [], quorum: 1 },
      ...changes.ledgerLog,
    },
    outbound: {
      send: createPinnedFetch({ resolve: () => Promise.resolve([]) }),
      mail: (email) => {
        emails.push(email)
        return Promise.resolve()
      },
      ...changes.outbound,
    },
    nudges: () => nudges,
    emails,
    close: async () => {
      await database.close()
      if (folder === null) return
      dropDatabase(url)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
