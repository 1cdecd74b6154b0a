/** The parts of an installation, prepared once: an empty database, keys, authored files. */
import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { loadReference } from '../../src/actions/reference.ts'
import { keyedHashOf } from '../../src/auth/keyed-hash.ts'
import { verifySignature } from '../../src/auth/schemes.ts'
import { loadKeys } from '../../src/auth/service-keys.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { setRestoredAt } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import { withPlatform } from '../support/receipts.ts'
import { evmWallet } from '../support/wallets.ts'
import { readFilesSynchronously } from './machine.ts'
import { platformKey } from './requests.ts'
import { mount, plainMachine } from './sqlite-driver.ts'

export type Installation = Awaited<ReturnType<typeof prepareInstallation>>

export const startMs = Date.UTC(2026, 10, 21, 6)
export const rails = ['x402', 'olas', 'job_exchange'] as const

export async function prepareInstallation() {
  const memory = '/dev/shm'
  const dir = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'ledger-simulation-'))
  readFilesSynchronously()
  await loadCurve()
  const emptyDatabase = join(dir, 'empty.db')
  mount(plainMachine)
  const database = await openDatabase({ url: emptyDatabase })
  await database.close()
  mount(null)
  const dataDir = join(dir, 'data')
  cpSync('data', dataDir, { recursive: true, filter: (path) => !path.startsWith('data/run') })
  for (const name of readdirSync(join(dataDir, 'rails'))) {
    if (!rails.some((rail) => name === `${rail}.json`)) rmSync(join(dataDir, 'rails', name))
  }
  return {
    dir,
    emptyDatabase,
    dataDir,
    reference: withPlatform(await loadReference('data'), platformKey),
    keys: await loadKeys({ dir: join(dir, 'keys'), nowMs: startMs }),
    exchangeKeys: { active: signingKeyFromSeed(new Uint8Array(32).fill(7)), retired: [] },
    keyedHash: keyedHashOf(new Uint8Array(32).fill(9)),
    remove: (): void => rmSync(dir, { recursive: true, force: true }),
  }
}

export function createDisks(dir: string, seed: number) {
  const files: string[] = []
  return {
    copyOf: (path: string): string => {
      const made = join(dir, `${seed}-${files.length}.db`)
      files.push(made)
      // Includes the write-ahead log.
      for (const end of ['', '-wal']) {
        if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${made}${end}`)
      }
      return made
    },
    removeAll: (): void => {
      for (const file of files) {
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
      }
    },
  }
}

/** Loads secp256k1, whose loading time would not depend on the seed. */
async function loadCurve(): Promise<void> {
  const { address, sign } = evmWallet('anyone')
  const signed = { message: 'anything', signature: await sign('anything') }
  await verifySignature({ ...signed, wallet: parseWallet(address) })
}

/** Sets the time of the restore, like `admin restore`. */
export async function markRestored(path: string, restoredAt: string): Promise<void> {
  mount(plainMachine)
  const database = await openDatabase({ url: path, create: false })
  await setRestoredAt(database.db, restoredAt)
  await database.close()
  mount(null)
}
