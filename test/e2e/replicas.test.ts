/** Two services and a builder, each with its own folder, on one PostgreSQL. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { newPostgresDatabase } from '../support/new-database.ts'
import { startPostgres } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { run } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { nearWallet, signedBody } from '../support/wallets.ts'
import { healthOf, newLedger, sound, stop, useProgram } from './ledger.ts'
import type { Ledger } from './ledger.ts'

allowSlowTests('starts the compiled program and PostgreSQL')

const program = useProgram()
const exitConfig = 78
let server: PostgresServer
let ledger: Ledger

beforeAll(async () => {
  server = await startPostgres()
  const DATABASE_URL = await newPostgresDatabase(server.url)
  ledger = newLedger(program, { DATABASE_URL, POLL: 'off', BUILDER: 'off' })
})
afterAll(async () => {
  await server.stop()
  ledger.remove()
})

test('replicas name the settings and keys that are missing, and show each other what they accept', async () => {
  const bare = ledger.service()
  expect(await bare.ended).toBe(exitConfig)
  expect(bare.output()).toMatch(/SMTP_URL: must be set[^]*SNAPSHOT_GIT_REMOTE: must be set/)

  const { dataDir } = ledger
  const remote = join(dataDir, '../facts.git')
  execFileSync('git', ['init', '--quiet', '--bare', remote])
  const shared = { SMTP_URL: 'smtp://127.0.0.1:9', SNAPSHOT_GIT_REMOTE: remote }
  const folders = { keys: join(dataDir, 'keys'), secrets: join(dataDir, 'secrets') }
  const keyless = [ledger.service(shared), ledger.builder([], shared)]
  for (const { ended } of keyless) expect(await ended).toBe(exitConfig)
  for (const { output } of keyless) expect(output()).toContain('signing-keys.json is missing')
  expect(Object.values(folders).map(existsSync)).toEqual([false, false])

  const cli = program.scriptOf('scripts/cli/main.ts')
  expect(await run(cli, ['admin', 'keys', 'create'], ledger.env).ended).toBe(0)
  const ownFolder = (name: string) => {
    const folder = join(dataDir, '..', name)
    cpSync(folders.keys, join(folder, 'keys'), { recursive: true })
    cpSync(folders.secrets, join(folder, 'secrets'), { recursive: true })
    return { ...shared, DATA_DIR: folder }
  }
  const leader = ledger.builder([], ownFolder('builder'))
  const first = await ledger.start(ownFolder('first'))
  const second = await ledger.start(ownFolder('second'))
  const shown = { ...sound, database_engine: 'postgres' }
  for (const { url } of [first, second]) {
    await expect.poll(() => healthOf(url)).toMatchObject(shown)
  }

  for (let at = 1; at <= 3; at += 1) {
    const profile = { display_name: `Worker ${at}`, skills: ['agent-news-reporting'] }
    const nowMs = Date.now()
    const body = await signedBody(nearWallet(`worker ${at}`), 'register', profile, { nowMs })
    const answer = await fetch(`${first.url}/api/v1/workers/register`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(201)
    const total = async () => {
      const stats = await fetch(`${second.url}/api/v1/stats/live`)
      return await stats.json()
    }
    await expect.poll(total).toMatchObject({ workers_total: at })
  }
  for (const running of [first.service, second.service, leader]) await stop(running)
})
