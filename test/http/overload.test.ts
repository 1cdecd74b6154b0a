/** More concurrent requests than the limit: those within it are answered, the others are refused at once. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'

import { expect, onTestFinished, test } from 'vitest'

import { setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { createConcurrencyLimits } from '../../src/limits/concurrency-limits.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { open, parseAnswer, received, send } from '../support/raw-http.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { requestJson, signedRequest } from '../support/requests.ts'
import { useServices } from '../support/use-service.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'

const AT_ONCE = 256
const TOO_MANY = 44
const platformKey = ed25519Key('platform')
const workers = Array.from({ length: 6 }, (_, at) => nearWallet(`worker ${at}`))

const services = useServices()

async function signedReceipts(count: number, nowMs: number): Promise<readonly string[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const worker = workers[at % workers.length] ?? nearWallet('worker')
      const facts = receiptFacts(worker, { amount_usdc: 1, summary: `Job ${at}` })
      return JSON.stringify(await submission(worker, issued(facts, platformKey), nowMs))
    }),
  )
}

/** A write over its own connection, whose body waits for `sendBody`. */
interface HeldWrite {
  /** Resolves when the service has read the headers. */
  readonly begun: Promise<unknown>
  readonly answered: Promise<{
    readonly status: number | undefined
    readonly headers: IncomingHttpHeaders
    readonly body: unknown
  }>
  readonly sendBody: () => void
  readonly end: () => void
}

/** Connects from one of 128 loopback addresses, because one address may have 2 writes at a time. */
function holdWrite(url: string, body: string, at: number): HeldWrite {
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Expect: '100-continue',
  }
  const write = request(`${url}/api/v1/receipts`, {
    method: 'POST',
    agent: false,
    headers,
    localAddress: `127.0.0.${2 + (at % 128)}`,
  })
  write.on('error', () => undefined)
  write.flushHeaders()
  const answered = new Promise<IncomingMessage>((resolve) => {
    write.once('response', resolve)
  }).then(async (answer) => ({
    status: answer.statusCode,
    headers: answer.headers,
    body: await json(answer),
  }))
  const begun = once(write, 'continue')
  return { begun, answered, sendBody: () => write.end(body), end: () => write.destroy() }
}

test(`of ${AT_ONCE + TOO_MANY} concurrent writes ${AT_ONCE} are accepted and the others refused before signature verification`, async () => {
  const database = await tempDatabase({ heldLimitMs: 60_000, lockPatienceMs: 60_000 })
  let checks = 0
  const service = await services.start({
    limits: 'on',
    actions: {
      ...(await platformActions(platformKey)),
      database,
      signatures: {
        walletChain: () => {
          checks += 1
          return undefined
        },
      },
    },
  })
  const bodies = await signedReceipts(AT_ONCE + TOO_MANY, service.clock.now())
  const writes = bodies.map((body, at) => holdWrite(service.url, body, at))
  await Promise.all(writes.map(({ begun }) => begun))

  const other = await openDatabase({ url: database.url })
  onTestFinished(() => other.close())
  const { opened: held, open: free } = gate()
  const { opened: holding, open: hold } = gate()
  const lock = other.write(async (tx) => {
    await setMeta(tx, 'held', '1')
    hold()
    await held
  })
  await holding
  const refused: number[] = []
  const watch = async (at: number, write: HeldWrite): Promise<void> => {
    const { status, headers, body } = await write.answered
    if (status === 201) return
    refused.push(at)
    expect([status, headers['cache-control']]).toEqual([503, 'no-store'])
    expect(headers['retry-after']).toMatch(/^[123]$/)
    expect(body).toMatchObject({
      code: 'unavailable',
      details: 'Too many writes are in progress; nothing was done',
    })
  }
  const watched = Promise.all(writes.map((write, at) => watch(at, write)))
  for (const write of writes) write.sendBody()
  await expect.poll(() => refused.length).toBe(TOO_MANY)
  await expect.poll(() => checks).toBe(AT_ONCE)

  // Later writes are refused before their bodies arrive; reads still succeed.
  const late = await open(service.address)
  const lateAnswer = received(late, '\r\n\r\n')
  late.write(
    'POST /api/v1/workers/register HTTP/1.1\r\nHost: ledger.test\r\nContent-Length: 900\r\n\r\n',
  )
  expect(parseAnswer(await lateAnswer).status).toBe(503)
  late.destroy()
  // A payment header bypasses the limit only on paid routes, which have a limit for payments.
  for (const header of ['X-PAYMENT', 'PAYMENT-SIGNATURE']) {
    const unpaid = await send(service.address, 'POST /api/v1/workers/register', [
      `${header}: abc`,
      'Content-Length: 900',
    ])
    expect([header, unpaid.status]).toEqual([header, 503])
  }
  const paying = { body: { tier: 'pro' }, headers: { 'X-PAYMENT': 'abc' } }
  expect(await requestJson(service, '/api/v1/partners/subscription', paying)).toMatchObject({
    body: { code: 'credentials_missing' },
  })
  for (const path of ['/api/v1/rails', '/api/v1/receipts?limit=1', '/api/v1/health', '/']) {
    expect([path, (await fetch(service.url + path)).status]).toEqual([path, 200])
  }
  expect(checks).toBe(AT_ONCE)

  free()
  await lock
  await watched
  const answers = await Promise.all(writes.map((write) => write.answered))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(AT_ONCE)

  // The refused writes are accepted when they are sent again.
  for (const at of refused) {
    expect((await requestJson(service, '/api/v1/receipts', { body: bodies[at] })).status).toBe(201)
  }
  const rows = await database.db.selectFrom('receipts').select('id').execute()
  expect(new Set(rows.map(({ id }) => id)).size).toBe(bodies.length)
  expect(rows).toHaveLength(bodies.length)
  expect(await recomputeScores(database.db)).toMatchObject({
    entries: bodies.length,
    differences: [],
  })

  // An unverified write is not charged as a failed signature: this call costs 20 units, the reads before cost 12.
  const path = '/api/v1/partners/me'
  const forged = { ...evmWallet('alice'), sign: evmWallet('mallory').sign }
  const unproven = await (await signedRequest(service, forged, { method: 'GET', path }))()
  expect(unproven.headers.get('ratelimit')).toBe('"work";r=11968;t=3')

  for (const write of writes) write.end()
})

test('request bodies that never arrive occupy no place in a concurrency limit', async () => {
  const service = await services.start({ actions: await platformActions(platformKey) })
  const [body = '', ...others] = await signedReceipts(AT_ONCE + TOO_MANY, service.clock.now())
  const writes = others.map((other, at) => holdWrite(service.url, other, at))
  await Promise.all(writes.map(({ begun }) => begun))
  expect((await requestJson(service, '/api/v1/receipts', { body })).status).toBe(201)
  for (const write of writes) write.end()
})

test('a concurrency limit skips work of a disconnected client and frees the place after every end', async () => {
  const { write: limit, read } = createConcurrencyLimits()
  let done = 0
  const work = () => {
    done += 1
    return Promise.resolve()
  }
  await expect(limit.run(work, null, () => true)).rejects.toThrow()
  expect(done).toBe(0)
  for (let round = 0; round < 2; round += 1) {
    let fail: (reason: Error) => void = () => undefined
    const failing = new Promise<never>((_resolve, reject) => {
      fail = reject
    })
    const stuck = Promise.allSettled(
      Array.from({ length: AT_ONCE }, () => limit.run(() => failing)),
    )
    await Promise.resolve()
    expect(limit.isFull()).toBe(true)
    await expect(limit.run(work)).rejects.toMatchObject({ code: 'unavailable' })
    await read.run(work)
    fail(new Error('no luck'))
    const ends = await stuck
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(AT_ONCE)
    expect(limit.isFull()).toBe(false)
  }
  expect(done).toBe(2)
})

test('waiting requests of one network leave the places of other networks free', async () => {
  const { write: limit } = createConcurrencyLimits()
  const { opened, open: finish } = gate()
  let started = 0
  const work = () => {
    started += 1
    return opened
  }
  const stuck = Array.from({ length: AT_ONCE / 2 }, () => limit.run(work, 1))
  await expect(limit.run(work, 1)).rejects.toMatchObject({ code: 'unavailable' })
  await limit.run(() => Promise.resolve(), 2)
  expect(started).toBe(2)
  finish()
  await Promise.all(stuck)
  expect(started).toBe(AT_ONCE / 2)
  expect(limit.isFull(1)).toBe(false)
})
