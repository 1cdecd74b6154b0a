import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { loadReference } from '../../src/actions/reference.ts'
import { parseSecretKey, receiptKeyOf } from '../../src/client/signers.ts'
import { bytesToHex } from '../../src/core/hex.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import { demoMarkerPath, isDemoFolder } from '../../src/runtime/demo.ts'
import {
  packageRoot,
  systemClock as clock,
  systemRandom as random,
} from '../../src/runtime/runtime.ts'
import { startNodeServer } from '../../test/support/server-process.ts'
import { demoRails, fillLedger } from './calls.ts'
import { writeYearOfPolls } from './polls.ts'

export const demoServiceName = 'agent-income-ledger-demo'
const platform = 'demo-board'
const program = join(packageRoot, 'dist/src/main.js')

export function demoSettings(dataDir: string): Readonly<Record<string, string>> {
  return {
    DEMO: 'on',
    DATA_DIR: dataDir,
    PUBLIC_DIR: join(dataDir, 'public'),
    DATABASE_URL: '',
    SERVICE_NAME: demoServiceName,
    POLL: 'off',
  }
}

/** Leaves an existing demo folder as it is. @throws Error for any other existing folder */
export async function prepareDemoFolder(dataDir: string): Promise<void> {
  if (isDemoFolder(dataDir)) return
  if (existsSync(dataDir)) {
    throw new Error(`${dataDir} exists and is not a demo folder: choose another DATA_DIR`)
  }
  const authored = join(dataDir, 'authored')
  const source = join(packageRoot, 'data')
  const isAuthored = (path: string) => path !== join(source, 'run')
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(
    demoMarkerPath(dataDir),
    'Created by `npm run demo` with invented data. You can delete this folder.\n',
  )
  cpSync(source, authored, { recursive: true, dereference: true, filter: isAuthored })
  const key = receiptKeyOf(parseSecretKey(`seed:${bytesToHex(random.bytes(32))}`))
  const nowMs = clock.now()
  const entry = {
    platform,
    name: 'Demo Board',
    public_key: key.publicKey,
    rails: demoRails,
    added_at: isoTime(nowMs - 365 * dayMs),
  }
  writeFileSync(join(authored, 'platforms.json'), JSON.stringify({ platforms: [entry] }))
  const { oaths } = await loadReference(authored)
  const database = await openDatabase({ url: join(dataDir, 'ledger.db') })
  await writeYearOfPolls(database, join(authored, 'rails'), { nowMs, random })
  await database.close()
  const env = { ...demoSettings(dataDir), BUILDER: 'off', LIMITS: 'off', LOG_LEVEL: 'error' }
  const { origin, stop } = await startNodeServer(program, { env, readyPath: '/healthz' })
  try {
    await fillLedger({
      origin,
      serviceName: demoServiceName,
      oaths: [...oaths.values()],
      platform: { slug: platform, key },
      deps: { clock, random, fetch },
    })
  } finally {
    await stop()
  }
}

/** Standard output is piped. */
export function startService(settings: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [program], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
