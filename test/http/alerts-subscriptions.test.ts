import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { dayMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { appendEvent } from '../../src/db/events.ts'
import { deliverOnce } from '../support/deliver.ts'
import { challengeIn, okReply, startReceiver, statusReply } from '../support/https-receiver.ts'
import type { Receiver } from '../support/https-receiver.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { atOnce, expectRefusal, signedRequest, statusCounts } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, solanaWallet } from '../support/wallets.ts'

const service = useService()
let receiver: Receiver
const alice = evmWallet('alice')
const bob = solanaWallet('bob')
const base = '/api/v1/alerts'

beforeEach(async () => {
  receiver = await startReceiver()
  await makePartner(service, alice, { handle: 'alice' })
  await makePartner(service, bob, { handle: 'bob' })
  return () => receiver.stop()
})

const call = partnerClient(service, alice)

const created = z.looseObject({ id: z.string(), secret: z.string() })
const url = 'https://hooks.example.com/alerts'

async function subscribe(body: object = { url }, wallet = alice) {
  const answer = await partnerClient(service, wallet)('POST', `${base}/subscribe`, body)
  return { ...answer, made: answer.status === 201 ? created.parse(answer.body) : null }
}

/** Subscribes, and answers the challenge. */
async function subscribeProven() {
  const answer = await subscribe()
  expect(await deliver()).toMatchObject({ delivered: 1 })
  receiver.requests.length = 0
  return answer
}

const deliver = (to = receiver) => deliverOnce(service, to)

const happen = (id: string) =>
  service.actions.database.write((tx) =>
    appendEvent(tx, {
      id,
      kind: 'flag_opened',
      rail: 'x402',
      severity: 'warning',
      title: id,
      data: {},
      createdAt: isoTime(service.clock.now()),
    }),
  )

/** Returns everything that the database stores, as text. */
async function storedTexts(): Promise<readonly string[]> {
  const { db, path } = service.actions.database
  if (path !== null)
    return await Promise.all([path, `${path}-wal`].map((file) => readFile(file, 'latin1')))
  const dump = sql<{ text: string }>`select database_to_xml(true, false, '')::text as text`
  const { rows } = await dump.execute(db)
  return rows.map(({ text }) => text)
}

describe('an alert subscription', () => {
  test('an alert subscription returns a secret that is shown once and never stored', async () => {
    const { status, body, made } = await subscribe({
      url,
      rails: ['x402', 'olas'],
      severity: 'warning',
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      url,
      rails: ['x402', 'olas'],
      severity: 'warning',
      status: 'pending',
    })
    expect(made?.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const list = await call('GET', `${base}/subscriptions`)
    expect(list.body).toMatchObject({ count: 1, total: 1, subscriptions: [{ id: made?.id }] })
    const one = await call('GET', `${base}/subscriptions/${made?.id ?? ''}`)
    expect(JSON.stringify([list.body, one.body])).not.toContain('secret')
    const stored = await storedTexts()
    expect(stored.some((text) => text.includes(made?.id ?? ''))).toBe(true)
    expect(stored.some((text) => text.includes(made?.secret.slice(6) ?? ''))).toBe(false)
  })

  test('a repeated request returns the same alert subscription with the same secret', async () => {
    const path = `${base}/subscribe`
    const sendIt = await signedRequest(service, alice, { path, body: { url } })
    const answers = await atOnce(10, () => sendIt())
    expect(statusCounts(answers)).toEqual({ 200: 9, 201: 1 })
    expect(new Set(answers.map(({ body }) => created.parse(body).secret)).size).toBe(1)
  })

  test('an alert subscription receives events that its secret verifies, and reports each delivery', async () => {
    const { made } = await subscribeProven()
    await happen('evt-1')
    await deliver()
    const [request] = receiver.requests
    const signed = `${String(request?.headers['webhook-id'])}.${String(request?.headers['webhook-timestamp'])}.${request?.body ?? ''}`
    const key = Buffer.from(made?.secret.slice(6) ?? '', 'base64')
    expect(request?.headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
    )
    receiver.reply(statusReply(410))
    await happen('evt-2')
    await deliver()
    const path = `${base}/subscriptions/${made?.id ?? ''}`
    const dead = await call('GET', `${path}/deliveries?status=dead`)
    expect(dead.body).toMatchObject({
      count: 1,
      deliveries: [{ type: 'flag_opened', status: 'dead', attempts: 1, last_status: 410 }],
    })
    expect(JSON.stringify(dead.body)).toContain('evt-2')
    expect((await call('GET', `${path}/deliveries`)).body['count']).toBe(3)
    expect((await call('GET', path)).body).toMatchObject({ status: 'disabled' })
    expect((await call('POST', `${path}/test`, {})).status).toBe(409)
  })

  test('the code of the guide verifies deliveries, with the old and the new secret for a day', async () => {
    const guide = await readFile(new URL('../../data/docs/webhooks.md', import.meta.url), 'utf8')
    const sample = (language: string): string =>
      new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? ''
    const moduleUrl = `data:text/javascript,${encodeURIComponent(sample('js'))}`
    const { isOurs } = z
      .object({
        isOurs: z.function({ input: [z.unknown(), z.string(), z.string()], output: z.boolean() }),
      })
      .parse(await import(moduleUrl))
    const python = (args: readonly unknown[]): boolean => {
      const call = `import json, sys\nprint(is_ours(*json.loads(sys.stdin.read())))`
      const options = { input: JSON.stringify(args), encoding: 'utf8', timeout: 60_000 } as const
      return execFileSync('python3', ['-c', `${sample('py')}\n${call}`], options) === 'True\n'
    }
    const accepted = async (secrets: readonly string[], path: string) => {
      receiver.requests.length = 0
      await call('POST', `${path}/test`, {})
      expect(await deliver()).toMatchObject({ delivered: 1 })
      const [{ headers, body } = { headers: {}, body: '' }] = receiver.requests
      return secrets.map((secret) => {
        const verdict = isOurs(headers, body, secret)
        expect(python([headers, body, secret])).toBe(verdict)
        expect(isOurs(headers, `${body} `, secret)).toBe(false)
        return verdict
      })
    }
    service.clock.advance(Date.now() - service.clock.now())
    const { made } = await subscribeProven()
    const path = `${base}/subscriptions/${made?.id ?? ''}`
    const rotate = async () => created.parse((await call('POST', `${path}/rotate`, {})).body).secret
    const first = made?.secret ?? ''
    const second = await rotate()
    expect(await accepted([first, second], path)).toEqual([true, true])
    const third = await rotate()
    expect(await accepted([first, second, third], path)).toEqual([false, true, true])
    service.clock.advance(dayMs)
    receiver.requests.length = 0
    await call('POST', `${path}/test`, {})
    await deliver()
    expect(String(receiver.requests[0]?.headers['webhook-signature']).split(' ')).toHaveLength(1)
  })

  test('an alert subscription receives no event before its endpoint has answered the challenge', async () => {
    const { made } = await subscribe()
    await happen('evt-1')
    const path = `${base}/subscriptions/${made?.id ?? ''}`
    expect((await call('POST', `${path}/test`, {})).status).toBe(202)
    expectRefusal(await call('POST', `${path}/enable`, {}), 409, 'conflict')
    receiver.reply(({ body }, res) => void res.writeHead(200).end(body))
    expect(await deliver()).toEqual({ delivered: 0, failed: 1, dead: 0 })
    expect((await call('GET', path)).body).toMatchObject({
      status: 'pending',
      last_error: 'The answer does not contain the challenge',
    })
    receiver.reply(({ body }, res) => {
      res.writeHead(200).end(JSON.stringify({ challenge: challengeIn(body) }))
    })
    expect((await call('POST', `${path}/enable`, {})).status).toBe(202)
    expect(await deliver()).toMatchObject({ delivered: 3 })
    const types = receiver.requests.map(({ body }) => /"type":"([^"]+)/.exec(body)?.[1])
    const challenge = 'endpoint.challenge'
    expect(types.slice(0, 2)).toEqual([challenge, challenge])
    expect(new Set(types.slice(2))).toEqual(new Set(['flag_opened', 'test']))
    expect((await call('GET', path)).body).toMatchObject({ status: 'active' })
    expectRefusal(await call('POST', `${path}/enable`, {}), 409, 'conflict')
  })

  test('an alert subscription that fails for three days is disabled with a reason, until re-enabled', async () => {
    const { made } = await subscribeProven()
    await happen('evt-1')
    receiver.reply(statusReply(500))
    const path = `${base}/subscriptions/${made?.id ?? ''}`
    await deliver()
    service.clock.advance(3 * dayMs - 1)
    await deliver()
    expect((await call('GET', path)).body).toMatchObject({ status: 'active', failures: 2 })
    service.clock.advance(dayMs)
    await deliver()
    expect((await call('GET', path)).body).toMatchObject({
      status: 'disabled',
      status_reason: 'Every attempt of 3 days failed, which disables the subscription',
      disabled_at: isoTime(service.clock.now()),
      last_error: 'The receiver answered 500',
    })
    await happen('evt-2')
    receiver.requests.length = 0
    await deliver()
    expectRefusal(
      await partnerClient(service, bob)('POST', `${path}/enable`, {}),
      404,
      'unknown_subscription',
    )
    expect((await call('POST', `${path}/enable`, {})).status).toBe(202)
    await happen('evt-3')
    receiver.reply(okReply)
    expect(await deliver()).toMatchObject({ delivered: 2 })
    const bodies = receiver.requests.map(({ body }) => body)
    expect(bodies[1]).toContain('evt-3')
    expect((await call('GET', path)).body).toMatchObject({ status: 'active' })
  })

  test('an alert subscription can be tested with one test event at a time', async () => {
    const { made } = await subscribeProven()
    const path = `${base}/subscriptions/${made?.id ?? ''}/test`
    const queued = await call('POST', path, {})
    expect(queued).toMatchObject({ status: 202, body: { status: 'pending' } })
    expectRefusal(await call('POST', path, {}), 409, 'conflict')
    expect(await deliver()).toMatchObject({ delivered: 1 })
    expect(receiver.requests[0]?.headers['webhook-id']).toBe(queued.body['delivery_id'])
    expect(JSON.parse(receiver.requests[0]?.body ?? '')).toMatchObject({ type: 'test' })
    expect((await call('POST', path, {})).status).toBe(202)
  })

  test('only its owner deletes an alert subscription, together with its pending deliveries', async () => {
    const { made } = await subscribeProven()
    await happen('evt-1')
    receiver.reply(statusReply(500))
    await deliver()
    const path = `${base}/subscriptions/${made?.id ?? ''}`
    const asBob = partnerClient(service, bob)
    for (const [method, target, body] of [
      ['GET', path, undefined],
      ['GET', `${path}/deliveries`, undefined],
      ['DELETE', path, undefined],
      ['POST', `${path}/test`, {}],
    ] as const) {
      expectRefusal(await asBob(method, target, body), 404, 'unknown_subscription')
    }
    expect(await call('DELETE', path)).toMatchObject({ status: 200, body: { status: 'deleted' } })
    expect((await call('DELETE', path)).status).toBe(404)
    service.clock.advance(minuteMs)
    expect(await deliver()).toEqual({ delivered: 0, failed: 0, dead: 0 })
    expect(receiver.requests).toHaveLength(1)
  })

  test('one signature deletes an alert subscription once, and a request with a body never does', async () => {
    const { made } = await subscribe()
    const path = `${base}/subscriptions/${made?.id ?? ''}`
    const sendIt = await signedRequest(service, alice, { method: 'DELETE', path })
    expect((await sendIt({ body: {} })).status).toBe(400)
    const deleted = { status: 200, body: { id: made?.id, status: 'deleted' } }
    for (let time = 0; time < 2; time += 1) expect(await sendIt()).toMatchObject(deleted)
  })

  test.each(['https://127.0.0.1/', 'https://intranet/'])('refuses webhook %s', async (hostile) => {
    expectRefusal(await subscribe({ url: hostile }), 400, 'invalid_input')
  })

  test('reports a webhook host that resolves to a private address, and never connects to it', async () => {
    const { made } = await subscribe()
    const inside = await startReceiver(['hooks.example.com'], () =>
      Promise.resolve(['127.0.0.1', '10.0.0.1']),
    )
    const round = await deliver(inside)
    expect(round).toMatchObject({ failed: 1 })
    expect(inside.connections()).toBe(0)
    const path = `${base}/subscriptions/${made?.id ?? ''}/deliveries`
    const { body } = await call('GET', path)
    expect(body).toMatchObject({
      deliveries: [{ last_error: 'The host name resolves to an address that is not public' }],
    })
    await inside.stop()
  })

  test('subscribing to alerts returns 422 for an unknown rail, and for an eleventh subscription', async () => {
    expect((await subscribe({ url, rails: ['no_such_rail'] })).status).toBe(422)
    for (let number = 0; number < 10; number += 1) expect((await subscribe()).status).toBe(201)
    expect((await subscribe()).status).toBe(422)
    expect((await subscribe({ url }, bob)).status).toBe(201)
  })

  test('only partners subscribe to alerts, and each write adds a row to the oath history', async () => {
    expect((await subscribe({ url }, evmWallet('stranger'))).status).toBe(403)
    const { made } = await subscribe()
    await call('POST', `${base}/subscriptions/${made?.id ?? ''}/test`, {})
    await call('DELETE', `${base}/subscriptions/${made?.id ?? ''}`)
    const rows = await service.actions.database.reader
      .selectFrom('oath_history')
      .select(['action', 'handle', 'binding'])
      .where('kind', '=', 'write')
      .orderBy('seq')
      .execute()
    const shared = { handle: 'alice', binding: 'body' }
    expect(rows).toEqual([
      { action: 'subscribeAlerts', ...shared },
      { action: 'testAlerts', ...shared },
      { action: 'unsubscribeAlerts', ...shared },
    ])
  })
})
