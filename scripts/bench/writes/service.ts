/** The compiled service on a folder of its own, with a platform in its registry that the load issues receipts for. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { freePort, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'
import { createReceiptMaker, platformSlug } from './receipts.ts'

export interface WriteService extends ServerProcess {
  readonly databasePath: string
  readonly publicDir: string
}

export async function startWriteService(
  dir: string,
  env: Readonly<Record<string, string>>,
  nodeArgs: readonly string[] = [],
): Promise<WriteService> {
  const program = join(dir, 'program')
  mkdirSync(program, { recursive: true })
  for (const part of ['src', 'builder']) {
    cpSync(join(packageRoot, 'dist', part), join(program, 'dist', part), { recursive: true })
  }
  for (const name of ['node_modules', 'package.json', 'public']) {
    symlinkSync(join(packageRoot, name), join(program, name))
  }
  const data = join(packageRoot, 'data')
  cpSync(data, join(program, 'data'), {
    recursive: true,
    dereference: true,
    filter: (path) => path !== join(data, 'run'),
  })
  const platform = {
    platform: platformSlug,
    name: 'Bench Board',
    public_key: (await createReceiptMaker('')).platformKey,
    rails: ['x402'],
    added_at: '2026-01-01T00:00:00.000Z',
  }
  writeFileSync(join(program, 'data/platforms.json'), JSON.stringify({ platforms: [platform] }))
  const dataDir = join(dir, 'run')
  const publicDir = join(dir, 'public')
  const port = await freePort()
  const server = await startServer({
    program: process.execPath,
    args: [...nodeArgs, join(program, 'dist/src/main.js')],
    env: {
      PORT: String(port),
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      PUBLIC_DIR: publicDir,
      LIMITS: 'off',
      LOG_LEVEL: 'warn',
      POLL: 'off',
      ...env,
    },
    port,
    readyPath: '/healthz',
  })
  return { ...server, databasePath: join(dataDir, 'ledger.db'), publicDir }
}

const BUILD_PATIENCE_MS = 120_000
const healthOfBuild = z.object({
  jobs: z.object({ build: z.object({ outcome: z.string() }).optional() }),
})

/** Resolves when the first build, which draws every page and picture, is over. */
export async function firstBuild(origin: string): Promise<void> {
  const deadlineMs = performance.now() + BUILD_PATIENCE_MS
  while (performance.now() < deadlineMs) {
    const answer = await fetch(`${origin}/api/v1/health`)
    const { jobs } = healthOfBuild.parse(await answer.json())
    if (jobs.build?.outcome === 'ok') return
    await sleep(200)
  }
  throw new Error(`no build in ${BUILD_PATIENCE_MS} ms`)
}
