import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { loadReference } from '../../src/actions/reference.ts'
import type { LedgerClient } from '../../src/client/client.ts'
import { packageRoot, systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { startNodeServer } from '../../test/support/server-process.ts'
import type { ServerProcess } from '../../test/support/server-process.ts'
import { testService as serviceName } from '../../test/support/wallets.ts'
import { addPartner } from '../demo/calls.ts'
import { platformKey, platformSlug } from './signed-receipts.ts'

export const receiptsPath = '/api/v1/receipts'
const buildTimeoutMs = 120_000

interface ServiceOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly builder?: boolean
  readonly readyPath?: string
  readonly probeEveryMs?: number
}

/** Starts the service without limits, polls or a log line per request. `env` overrides these settings. */
export async function startService(
  dir: string,
  { env = {}, builder = false, readyPath = '/healthz', probeEveryMs = 20 }: ServiceOptions = {},
  root: string = packageRoot,
): Promise<ServerProcess> {
  return await startNodeServer(join(root, 'dist/src/main.js'), {
    env: {
      DATA_DIR: join(dir, 'run'),
      PUBLIC_DIR: join(dir, 'public'),
      LIMITS: 'off',
      LOG_LEVEL: 'warn',
      POLL: 'off',
      BUILDER: builder ? 'embedded' : 'off',
      ...env,
    },
    readyPath,
    probeEveryMs,
  })
}

export function databasePathIn(dir: string): string {
  return join(dir, 'run/ledger.db')
}

/** Installs the program with the platform that issues the receipts of the load, and starts its service. */
export async function startPlatformService(
  dir: string,
  options: ServiceOptions = {},
): Promise<ServerProcess> {
  const root = join(dir, 'program')
  mkdirSync(root, { recursive: true })
  for (const part of ['dist', 'data']) {
    const from = join(packageRoot, part)
    const filter = (path: string) => path !== join(packageRoot, 'data/run')
    cpSync(from, join(root, part), { recursive: true, dereference: true, filter })
  }
  mkdirSync(join(root, 'builder/site'), { recursive: true })
  for (const name of ['node_modules', 'package.json', 'builder/site/static']) {
    symlinkSync(join(packageRoot, name), join(root, name))
  }
  const platform = {
    platform: platformSlug,
    name: 'Bench Board',
    public_key: platformKey.base64,
    rails: ['x402'],
    added_at: '2026-01-01T00:00:00.000Z',
  }
  writeFileSync(join(root, 'data/platforms.json'), JSON.stringify({ platforms: [platform] }))
  return await startService(dir, options, root)
}

/** Resolves when the first build, which renders every page and picture, has ended. */
export async function firstBuild({ origin }: ServerProcess): Promise<void> {
  const deadlineMs = performance.now() + buildTimeoutMs
  while (performance.now() < deadlineMs) {
    const health = await (await fetch(`${origin}/api/v1/health`)).text()
    if (/"build":\{[^}]*"outcome":"ok"/.test(health)) return
    await sleep(200)
  }
  throw new Error(`no build in ${buildTimeoutMs} ms`)
}

/** A client that has signed up as a partner. */
export async function partnerOf({ origin }: ServerProcess): Promise<LedgerClient> {
  const deps = { clock: systemClock, random: systemRandom, fetch }
  const { oaths } = await loadReference(join(packageRoot, 'data'))
  const ledger = { origin, serviceName, oaths: [...oaths.values()], deps }
  return await addPartner(ledger, 'bench', 'Bench')
}
