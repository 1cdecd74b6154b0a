import { createHmac } from 'node:crypto'

import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { createWebhooks } from '../../builder/jobs/deliver.ts'
import type { WebhookDeps } from '../../builder/jobs/webhook-attempt.ts'
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import {
  insertSubscription,
  noteSuccess,
  subscriptionsOf,
  deliveriesOf,
} from '../../src/db/alerts.ts'
import type { NewSubscription, WebhookDelivery } from '../../src/db/alerts.ts'
import { appendEvent } from '../../src/db/events.ts'
import type { NewEvent } from '../../src/db/events.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { OutboundAnswer } from '../../src/outbound/pinned-fetch.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import type { HandClock } from '../support/http-service.ts'
import { startReceiver, statusReply } from '../support/https-receiver.ts'
import type { ReceivedRequest, Receiver, Reply } from '../support/https-receiver.ts'
import { quietLog } from '../support/quiet-log.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

let receiver: Receiver
let database: OpenDatabase
let clock: HandClock
let ids = 0

beforeEach(async () => {
  receiver = await startReceiver(['hooks.example.com', 'other.example.com'])
  database = await tempDatabase()
  clock = handClock()
  return () => receiver.stop()
})

function builder(changes: Partial<WebhookDeps> = {}) {
  return createWebhooks({
    database,
    clock,
    random: {
      bytes: (length) => {
        ids += 1
        const bytes = Buffer.alloc(length)
        bytes.writeUInt32BE(ids)
        return bytes
      },
      unit: () => 0.5,
    },
    log: quietLog,
    send: receiver.fetch,
    secretOf: () => secret,
    userAgent: 'ledger-test',
    signal: new AbortController().signal,
    ...changes,
  })
}

async function subscribe(id: string, changes: Partial<NewSubscription> = {}): Promise<void> {
  await database.write(async (tx) => {
    await insertSubscription(tx, {
      id,
      wallet: '0xaa',
      url: `https://hooks.example.com/${id}`,
      rails: null,
      severity: null,
      afterSeq: 0,
      createdAt: isoTime(clock.now()),
      ...changes,
    })
    await noteSuccess(tx, id)
  })
}

let events = 0
async function addEvent(changes: Partial<NewEvent> = {}): Promise<number> {
  events += 1
  const event: NewEvent = {
    id: `evt-${events}`,
    kind: 'flag_opened',
    rail: 'x402',
    severity: 'warning',
    title: `event ${events}`,
    data: { number: events },
    createdAt: isoTime(clock.now()),
    ...changes,
  }
  return await database.write((tx) => appendEvent(tx, event))
}

/** Runs a builder once and compares the counts of its report; counts that are absent are zero. */
async function expectRun(
  counts: { readonly delivered?: number; readonly failed?: number; readonly dead?: number },
  changes: Partial<WebhookDeps> = {},
): Promise<void> {
  const expected = { delivered: 0, failed: 0, dead: 0, ...counts }
  expect(await builder(changes).run()).toEqual(expected)
}

const deliveries = (id: string): Promise<readonly WebhookDelivery[]> =>
  deliveriesOf(database.reader, id, 200)
const only = async (id: string): Promise<WebhookDelivery | undefined> => (await deliveries(id))[0]

const message = z.object({ type: z.string(), timestamp: z.string(), data: z.looseObject({}) })

/** Verifies a signature by the standard alone. */
function isSigned({ headers, body }: ReceivedRequest): boolean {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return headers['webhook-signature'] === expected
}

describe('webhooks', () => {
  test('webhooks deliver each event once, signed by Standard Webhooks', async () => {
    await addEvent()
    await subscribe('sub', { afterSeq: 1 })
    await addEvent({ title: 'news' })
    await expectRun({ delivered: 1 })
    await expectRun({})
    const [request, ...more] = receiver.requests
    expect(more).toEqual([])
    if (request === undefined) throw new Error('nothing came')
    expect(isSigned(request)).toBe(true)
    expect(request).toMatchObject({ method: 'POST', path: '/sub', host: 'hooks.example.com' })
    expect(request.headers['webhook-id']).toMatch(/^[a-z0-9_]+$/)
    expect(request.headers['webhook-timestamp']).toBe(String(Math.floor(clock.now() / 1000)))
    expect(request.headers['content-type']).toBe('application/json')
    expect(message.parse(JSON.parse(request.body))).toMatchObject({
      type: 'flag_opened',
      data: { kind: 'flag_opened', rail: 'x402', severity: 'warning', title: 'news' },
    })
    expect(await only('sub')).toMatchObject({ status: 'delivered', attempts: 1, lastStatus: 200 })
  })

  test('webhooks go only to subscriptions to the rail of the event and at most its severity', async () => {
    await subscribe('all')
    await subscribe('olas', { rails: ['olas', 'near'] })
    await subscribe('critical', { severity: 'critical' })
    await subscribe('both', { rails: ['x402'], severity: 'warning' })
    await addEvent({ rail: 'x402', severity: 'critical' })
    await addEvent({ rail: 'olas', severity: 'info' })
    await addEvent({ rail: null, severity: 'critical' })
    await builder().run()
    const paths = receiver.requests.map(({ path }) => path).toSorted()
    expect(paths).toEqual(['/all', '/all', '/all', '/both', '/critical', '/critical', '/olas'])
  })

  test('a delivery that fails is retried ten times at the standard intervals, then dropped', async () => {
    await subscribe('sub')
    await addEvent()
    receiver.reply(statusReply(500))
    const inHours = [2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs)
    const waits = [5 * secondMs, 5 * minuteMs, 30 * minuteMs, ...inHours]
    for (const [index, waitMs] of waits.entries()) {
      await expectRun({ failed: 1 })
      const withJitterMs = Math.round(waitMs * 1.05)
      expect(await only('sub')).toMatchObject({
        status: 'pending',
        attempts: index + 1,
        nextAttemptAt: isoTime(clock.now() + withJitterMs),
        lastStatus: 500,
        lastError: 'The receiver answered 500',
      })
      clock.advance(withJitterMs - 1)
      await expectRun({})
      clock.advance(1)
    }
    await expectRun({ dead: 1 })
    expect(receiver.requests).toHaveLength(10)
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(receiver.requests.every(isSigned)).toBe(true)
    clock.advance(7 * dayMs)
    await expectRun({})
    expect(await only('sub')).toMatchObject({ status: 'dead', attempts: 10, nextAttemptAt: null })
  })

  test('a subscription ends when its receiver responds with 410', async () => {
    await subscribe('sub')
    await addEvent()
    await addEvent()
    receiver.reply(statusReply(410))
    await expectRun({ dead: 1 })
    await addEvent()
    clock.advance(hourMs)
    await expectRun({})
    expect(receiver.requests).toHaveLength(1)
    expect((await deliveries('sub')).map(({ status }) => status)).toEqual(['dead', 'dead'])
    const [subscription] = await subscriptionsOf(database.reader, '0xaa')
    expect(subscription).toMatchObject({
      status: 'disabled',
      disabledAt: isoTime(clock.now() - hourMs),
    })
  })

  test.each<readonly [string, Reply, { lastStatus: number | null; lastError?: string }]>([
    [
      'is redirected',
      (_request, res) =>
        void res.writeHead(307, { Location: 'http://169.254.169.254/latest/meta-data/' }).end(),
      { lastStatus: 307 },
    ],
    [
      'gets an endless response',
      (_request, res) => void res.writeHead(200).end(Buffer.alloc(65_537)),
      { lastStatus: null, lastError: 'The response exceeds 65536 bytes' },
    ],
  ])('a delivery that %s fails after one connection', async (_name, reply, failure) => {
    await subscribe('sub')
    await addEvent()
    receiver.reply(reply)
    await expectRun({ failed: 1 })
    expect(receiver.connections()).toBe(1)
    expect(await only('sub')).toMatchObject({ status: 'pending', ...failure })
  })

  test('messages of webhooks stay below 20 kB, with longer content left to the feed', async () => {
    await subscribe('sub')
    await addEvent({ data: { text: 'ü'.repeat(20_000) } })
    await addEvent({ data: { text: 'x'.repeat(15_000) } })
    await builder().run()
    const bodies = receiver.requests.map(({ body }) => body)
    expect(bodies.every((body) => Buffer.byteLength(body) < 20_000)).toBe(true)
    expect(bodies.filter((body) => body.includes('"truncated":true'))).toHaveLength(1)
  })

  test('deliveries are deleted thirty days after they ended', async () => {
    await subscribe('sub')
    await addEvent()
    await builder().run()
    clock.advance(30 * dayMs)
    await builder().run()
    expect(await deliveries('sub')).toHaveLength(1)
    clock.advance(hourMs)
    await builder().run()
    expect(await deliveries('sub')).toEqual([])
  })
})

describe('a host that fails', () => {
  test('a host that fails is paused after five failures for 1, 2, … minutes, and delays no other host', async () => {
    await subscribe('failing', { wallet: '0xbb', url: 'https://other.example.com/' })
    for (let index = 0; index < 8; index += 1) await addEvent()
    receiver.reply(statusReply(500))
    for (let failures = 1; failures <= 5; failures += 1) await expectRun({ failed: 1 })
    await expectRun({})
    await subscribe('honest', { afterSeq: 8 })
    await addEvent()
    receiver.reply(statusReply(200))
    await expectRun({ delivered: 1 })
    receiver.reply(statusReply(500))
    clock.advance(minuteMs - 1)
    await expectRun({})
    clock.advance(1)
    await expectRun({ failed: 1 })
    clock.advance(2 * minuteMs - 1)
    await expectRun({})
    receiver.reply(statusReply(200))
    clock.advance(1)
    await expectRun({ delivered: 9 })
    const [subscription] = await subscriptionsOf(database.reader, '0xbb')
    expect(subscription).toMatchObject({ failures: 0, failingSince: null, pausedUntil: null })
  })
})

describe('two builders on one ledger', () => {
  test('several builders on one ledger send each delivery once', async () => {
    const other = await openDatabase({ url: database.url })
    for (const id of ['a', 'b', 'c']) await subscribe(id)
    for (let index = 0; index < 20; index += 1) await addEvent()
    const builders = [builder(), builder({ database: other }), builder()]
    const rounds = await Promise.all(builders.map((one) => one.run()))
    // A delivery that another builder has leased waits for the next round.
    rounds.push(await builder().run())
    expect(rounds.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(60)
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(60)
    expect(new Set(ids).size).toBe(60)
    await other.close()
  })

  test('two builders never send to one subscription at the same time', async () => {
    await subscribe('sub')
    for (let index = 0; index < 6; index += 1) await addEvent()
    let active = 0
    let peak = 0
    const send: WebhookDeps['send'] = async (request, limits) => {
      active += 1
      peak = Math.max(peak, active)
      const answer = await receiver.fetch(request, limits)
      active -= 1
      return answer
    }
    await Promise.all([builder({ send }).run(), builder({ send }).run()])
    await builder({ send }).run()
    expect(receiver.requests).toHaveLength(6)
    expect(peak).toBe(1)
  })

  test('a builder with an expired lease cannot settle a delivery', async () => {
    await subscribe('sub')
    await addEvent()
    const requested = gate()
    const answered = gate()
    const slow = builder({
      send: async (): Promise<OutboundAnswer> => {
        requested.open()
        await answered.opened
        return { status: 410, contentType: null, body: null }
      },
    }).run()
    await requested.opened
    clock.advance(59 * secondMs)
    await expectRun({})
    clock.advance(secondMs)
    receiver.reply(statusReply(500))
    await expectRun({ failed: 1 })
    answered.open()
    expect(await slow).toEqual({ delivered: 0, failed: 0, dead: 0 })
    expect(await only('sub')).toMatchObject({ status: 'pending', attempts: 1, lastStatus: 500 })
    const [subscription] = await subscriptionsOf(database.reader, '0xaa')
    expect(subscription).toMatchObject({ status: 'active' })
  })

  test('a builder that is stopped leaves its deliveries to the next', async () => {
    await subscribe('sub')
    await addEvent()
    const stopped = new AbortController()
    receiver.reply((_request, _res) => stopped.abort(new Error('stopped')))
    await expectRun({}, { signal: stopped.signal })
    expect(await only('sub')).toMatchObject({ status: 'pending', attempts: 0 })
    receiver.reply(statusReply(200))
    clock.advance(minuteMs)
    await expectRun({ delivered: 1 })
  })
})
