/** Lists that take very long, and the rest of the service meanwhile. */
import { once } from 'node:events'
import { connect } from 'node:net'

import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { isoTime } from '../../src/core/time.ts'
import type { ReadList } from '../../src/db/lists.ts'
import { createHealth } from '../../src/runtime/health.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { open, parseAnswer, received, send } from '../support/raw-http.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { requestJson } from '../support/requests.ts'
import { useServices } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'

const services = useServices()
const alice = evmWallet('alice')
const platformKey = ed25519Key('platform')
const listPath = '/api/v1/receipts?chain=base&status=unverified&limit=1'
const call = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_receipts', arguments: { status: 'unverified' } },
})
const toolCall = [
  'Content-Type: application/json',
  'Accept: application/json, text/event-stream',
  'MCP-Protocol-Version: 2025-06-18',
  `Content-Length: ${call.length}`,
  '',
  call,
].join('\r\n')
const endless = sql`with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n`

/** Makes every list endless until `release` is called. */
async function slowLists(listDeadlineMs: number) {
  const database = await tempDatabase({ listDeadlineMs })
  const { opened: begun, open: begin } = gate()
  let isSlow = true
  let running = 0
  const slow: ReadList = (read, reader) =>
    database.list(async (db) => {
      running += 1
      if (running === 2) begin()
      if (isSlow) await endless.execute(db)
      return await read(db)
    }, reader)
  const actions = { ...(await platformActions(platformKey)), database: { ...database, list: slow } }
  return {
    actions,
    begun,
    release: () => {
      isSlow = false
    },
  }
}

test('30 endless lists delay neither health nor writes nor other reads, and end with their clients', async () => {
  const { actions, begun, release } = await slowLists(600_000)
  const service = await services.start({ actions })
  const attackers = await Promise.all(Array.from({ length: 30 }, () => open(service.address)))
  let answered = 0
  for (const socket of attackers) {
    socket.once('data', () => {
      answered += 1
    })
    socket.write(`GET ${listPath} HTTP/1.1\r\nHost: ledger.test\r\n\r\n`)
  }
  await begun

  const { clock, store } = service
  const health = createHealth({
    database: service.actions.database,
    store,
    clock,
    startedMonotonicMs: 0,
    jobs: [],
    problems: () => [],
    canWrite: () => Promise.resolve(true),
    settlement: 'off',
  })
  const receipt = issued(receiptFacts(alice), platformKey)
  const body = await submission(alice, receipt, clock.now())
  const made = await requestJson(service, '/api/v1/receipts', { body })
  expect(made.status).toBe(201)
  const path = `/api/v1/receipts/${String(made.body['receipt_id'])}`
  expect((await requestJson(service, path)).status).toBe(200)
  expect((await health()).body).toMatchObject({ status: 'ok', database: 'ok' })
  expect(answered).toBe(0)

  release()
  await Promise.all(
    attackers.map((socket) => {
      const closed = once(socket, 'close')
      socket.destroy()
      return closed
    }),
  )
  expect((await requestJson(service, listPath)).body).toMatchObject({ count: 0, total: 0 })
})

test('endless lists of one network leave a connection and half of the reads to other networks', async () => {
  const database = await tempDatabase({ listDeadlineMs: 600_000 })
  const { opened: settled, open: settle } = gate()
  let attacker: number | null | undefined
  let waiting = 0
  let refused = 0
  const note = () => {
    // Of the 256 reads, 2 run and 126 wait.
    if (waiting + refused === 174) settle()
  }
  const list: ReadList = (read, reader) => {
    attacker ??= reader?.network
    const isSlow = reader === undefined || reader.network === attacker
    if (isSlow) waiting += 1
    note()
    return database.list(async (db) => {
      if (isSlow) await endless.execute(db)
      return await read(db)
    }, reader)
  }
  const actions = { ...(await platformActions(platformKey)), database: { ...database, list } }
  const service = await services.start({ actions, limits: 'on', trustedProxies: ['127.0.0.1'] })
  const ask = (from: string, path: string, more = '\r\n') => {
    const socket = connect(service.address)
    const line = `${more === '\r\n' ? 'GET' : 'POST'} ${path} HTTP/1.1`
    socket.write(
      `${line}\r\nHost: ledger.test\r\nX-Forwarded-For: ${from}\r\nConnection: close\r\n${more}`,
    )
    return { socket, answer: received(socket) }
  }
  const attackers = Array.from({ length: 300 }, (_, at) => {
    const from = `2001:db8:0:${at % 3}::1`
    return at % 2 === 0 ? ask(from, listPath) : ask(from, '/mcp', toolCall)
  })
  for (const { socket } of attackers) {
    socket.once('data', () => {
      refused += 1
      note()
    })
  }
  await settled
  expect([waiting, refused]).toEqual([2, 172])
  for (const path of [listPath, '/view/receipts', `/workers/${alice.address}`]) {
    const answer = parseAnswer(await ask('192.0.2.1', path).answer)
    expect([path, answer.status]).toEqual([path, path.startsWith('/workers') ? 404 : 200])
  }
  for (const { socket } of attackers) socket.destroy()
})

test('a list beyond its deadline returns 503 and the advice to request fewer entries', async () => {
  const { actions, release } = await slowLists(50)
  const service = await services.start({ actions })
  const answers = await Promise.all(Array.from({ length: 4 }, () => requestJson(service, listPath)))
  for (const { status, body } of answers) {
    expect(status).toBe(503)
    expect(body['details']).toMatch(/fewer entries/)
  }
  release()
  expect((await requestJson(service, listPath)).status).toBe(200)
})

test('lists count at most 1,000 entries, and mark a larger total as inexact', async () => {
  const database = await tempDatabase()
  const service = await services.start({ actions: { database } })
  const insert = async (from: number, to: number) =>
    await sql`
      with recursive n(i) as (select ${sql.raw(String(from))} union all select i + 1 from n where i < ${to})
      insert into receipts (id, kind, rail, to_wallet, to_display, amount_micro_usdc, asset_symbol, occurred_at,
        submitter, content, verification, onchain, accepted_at)
      select 'rcp_' || i, 'platform', 'x402', ${alice.address.toLowerCase()}, ${alice.address}, 1, 'USDC', '2026-11-20T00:00:00.000Z',
        'x', '{}', 'verified', 'none', '2026-11-20T00:00:00.000Z' from n`.execute(database.db)
  const path = '/api/v1/receipts?rail=x402&limit=1'
  await insert(1, 1000)
  const exact = await requestJson(service, path)
  expect([exact.body['total'], exact.body['total_is_exact']]).toEqual([1000, undefined])
  await insert(1001, 1001)
  expect((await requestJson(service, path)).body).toMatchObject({
    total: 1000,
    total_is_exact: false,
  })
  const page = await send(service.address, 'GET /view/receipts')
  expect(page.body.toString()).toContain('1,000 or more')
})

test('`since` finds every later receipt, also one that was stored before an earlier one', async () => {
  const database = await tempDatabase()
  const service = await services.start({ actions: { database } })
  const offsets = [-300, -70, -10, 5, -1, 0, 1, 3, 2, 59, 61, 60, 500]
  const sinceMs = Date.UTC(2026, 10, 20)
  for (const [at, seconds] of offsets.entries()) {
    await sql`insert into receipts (id, kind, rail, to_wallet, to_display, amount_micro_usdc, asset_symbol,
      occurred_at, submitter, content, verification, onchain, accepted_at)
      values (${`rcp_${String(at).padStart(64, '0')}`}, 'platform', 'x402', ${alice.address.toLowerCase()}, ${alice.address},
        1, 'USDC', '2026-11-20T00:00:00.000Z', 'x', '{}', 'verified', 'none', ${isoTime(sinceMs + seconds * 1000)})`.execute(
      database.db,
    )
  }
  for (const filter of ['', '&rail=x402', `&wallet=${alice.address}&rail=x402`]) {
    const { body } = await requestJson(
      service,
      `/api/v1/receipts?since=2026-11-20T00:00:00Z${filter}`,
    )
    const later = offsets.filter((seconds) => seconds > 0).toReversed()
    expect(body['total']).toBe(later.length)
    expect(body['receipts']).toMatchObject(
      later.map((seconds) => ({ accepted_at: isoTime(sinceMs + seconds * 1000) })),
    )
  }
})
