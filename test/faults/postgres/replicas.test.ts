/** Three services on one PostgreSQL: killed, cut off from it, and left without it. */
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import { newLedger, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { runCommand } from '../../support/command-line.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { PostgresServer } from '../../support/postgres.ts'
import type { Running } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import type { TcpProxy } from '../../support/tcp-proxy.ts'
import { nearWallet, signedBody } from '../../support/wallets.ts'

allowSlowTests('starts PostgreSQL and the compiled program')

const program = useProgram(installBoardProgram)
const clients = createClients(4)
let server: PostgresServer
let proxy: TcpProxy
let ledger: Ledger
let replicas: { service: Running; url: string }[]

const start = async () => await ledger.start({ BUILDER: 'off' })
const urls = () => replicas.map(({ url }) => url)

beforeAll(async () => {
  server = await startPostgres()
  proxy = await startTcpProxy(server.port)
  const url = await newPostgresDatabase(server.url)
  ledger = newLedger(program, {
    POLL: 'off',
    DATABASE_URL: url,
    SMTP_URL: 'smtp://127.0.0.1:1',
    SNAPSHOT_GIT_REMOTE: join(program.dir, 'archive'),
  })
  expect((await runCommand(['admin', 'keys', 'create'], ledger.env)).code).toBe(0)
  expect(await ledger.builder(['--once']).ended).toBe(0)
  replicas = await Promise.all([start(), start(), start()])
})
afterAll(async () => {
  for (const { service } of replicas) service.kill('SIGTERM')
  await Promise.all(replicas.map(({ service }) => service.ended))
  await proxy.stop()
  await server.stop()
  ledger.remove()
})

test('no acknowledged receipt is lost or doubled while replicas are killed', async () => {
  for (let round = 0; round < 12; round += 1) {
    const at = round % replicas.length
    const before = clients.acknowledged()
    const posting = urls().map((url) => clients.post(url, 12))
    await expect.poll(() => clients.acknowledged()).toBeGreaterThan(before + 3 * round)
    replicas[at]?.service.kill('SIGKILL')
    await Promise.all(posting)
    await clients.retry(urls()[(at + 1) % 3] ?? '')
    replicas[at] = await start()
  }
  expect(await clients.expectStored(ledger)).toBeGreaterThan(300)
})

test('documents are read and no write is lost while PostgreSQL crashes and starts again', async () => {
  for (let round = 0; round < 3; round += 1) {
    const before = clients.acknowledged()
    let isOver = false
    const posting = urls().map((url) => clients.post(url, 1000, () => isOver))
    await expect.poll(() => clients.acknowledged()).toBeGreaterThan(before + 10)
    await server.crash()
    for (const url of urls()) {
      expect((await fetch(`${url}/api/v1/rails`)).status).toBe(200)
      expect((await fetch(`${url}/api/v1/receipts?limit=1`)).status).toBe(503)
    }
    await server.start()
    const up = clients.acknowledged()
    await expect.poll(() => clients.acknowledged()).toBeGreaterThan(up + 10)
    isOver = true
    const results = (await Promise.all(posting)).flat()
    expect(results.filter(({ status }) => status === null)).toEqual([])
    expect(results.some(({ status }) => status === 503)).toBe(true)
    for (const url of urls()) await clients.retry(url)
  }
  await clients.expectStored(ledger)
})

const moments = ['before', 'after'] as const

async function startFar() {
  const far = new URL(ledger.env['DATABASE_URL'] ?? '')
  far.port = String(proxy.port)
  return await ledger.start({ BUILDER: 'off', DATABASE_URL: far.href })
}

test.each(moments)(
  'receipts whose connection is cut %s PostgreSQL has their commit are stored once when they are repeated',
  async (when) => {
    const { service, url } = await startFar()
    for (let round = 0; round < 10; round += 1) {
      const cut = proxy.cutAt('commit', when)
      await clients.post(url, 1)
      await cut
      await clients.retry(url)
    }
    await clients.expectStored(ledger)
    service.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  },
)

test.each(moments)(
  'a registration whose connection is cut %s PostgreSQL has its commit takes effect once when it is repeated',
  async (when) => {
    const { service, url } = await startFar()
    const register = async (body: string) => {
      const headers = { 'Content-Type': 'application/json' }
      const path = `${url}/api/v1/workers/register`
      const answer = await fetch(path, { method: 'POST', headers, body })
      await answer.arrayBuffer()
      return answer.status
    }
    for (let [round, cuts] = [0, 0]; cuts < 6; round += 1) {
      const profile = { skills: ['agent-news-reporting'] }
      const signed = await signedBody(nearWallet(`${when} ${round}`), 'register', profile, {
        nowMs: Date.now(),
      })
      const raw = JSON.stringify(signed)
      const cut = proxy.cutAt('commit', when)
      const first = await register(raw)
      await cut
      // The service may have written something else at this moment.
      if (first === 503) cuts += 1
      else expect(first).toBe(201)
      expect(await register(raw)).toBe(first === 503 && when === 'before' ? 201 : 200)
      expect(await register(raw)).toBe(200)
    }
    service.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  },
)
