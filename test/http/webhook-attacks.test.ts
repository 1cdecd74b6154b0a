import { createSocket } from 'node:dgram'
import { once, setMaxListeners } from 'node:events'

import { expect, onTestFinished, test } from 'vitest'

import { createWebhooks } from '../../builder/jobs/deliver.ts'
import { isoTime } from '../../src/core/time.ts'
import { appendEvent } from '../../src/db/events.ts'
import { createPinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { createStrangersResolve } from '../../src/outbound/resolve-stranger.ts'
import { webhookSecret } from '../../src/outbound/standard-webhook.ts'
import { gate } from '../db/temp-database.ts'
import { okReply, startReceiver } from '../support/https-receiver.ts'
import { serveDuringTest } from '../support/local-server.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

const service = useService()

/** Each host gets one partner, which subscribes it several times. */
async function subscribe(hosts: readonly string[], times: number): Promise<void> {
  for (const [at, host] of hosts.entries()) {
    const wallet = evmWallet(`partner ${at}`)
    await makePartner(service, wallet, { handle: `partner-${at}` })
    const call = partnerClient(service, wallet)
    for (let number = 0; number < times; number += 1) {
      const url = `https://${number}.${host}/hook`
      expect((await call('POST', '/api/v1/alerts/subscribe', { url })).status).toBe(201)
    }
  }
}

function startDeliveries(send: PinnedFetch) {
  const { database, keys, random, log } = service.actions
  const stop = new AbortController()
  const secretOf = (id: string, version: number) => webhookSecret(keys.hash, id, version)
  let roundEnds = gate()
  // A round ends when nothing runs, or when the test ends it.
  const clock = { ...service.clock, sleep: () => (roundEnds = gate()).opened }
  const { signal } = stop
  setMaxListeners(0, signal)
  const userAgent = 'ledger-test'
  const webhooks = createWebhooks({
    database,
    clock,
    random,
    log,
    send,
    secretOf,
    userAgent,
    signal,
  })
  onTestFinished(async () => {
    stop.abort(new Error('the test has ended'))
    await webhooks.settled()
  })
  return { run: webhooks.run, endRound: () => roundEnds.open() }
}

const happen = (rail: string) =>
  service.actions.database.write((tx) =>
    appendEvent(tx, {
      id: `evt-${rail}`,
      kind: 'flag_opened',
      rail,
      severity: 'warning',
      title: 'news',
      data: {},
      createdAt: isoTime(service.clock.now()),
    }),
  )

/** The requests that hang when the honest webhook is delivered, at least `full` of them before its event happens. */
async function hangingWhileDelivered(
  receiver: Awaited<ReturnType<typeof startReceiver>>,
  webhooks: ReturnType<typeof startDeliveries>,
  full: number,
): Promise<number> {
  let hanging = 0
  const [isFull, isDelivered] = [gate(), gate()]
  receiver.reply((request, res) => {
    if (request.host === 'honest.example.com') {
      okReply(request, res)
      isDelivered.open()
      return
    }
    hanging += 1
    if (hanging === full) isFull.open()
  })
  for (const [rail, awaited] of [
    ['x402', isFull.opened],
    ['olas', isDelivered.opened],
  ] as const) {
    await happen(rail)
    const round = webhooks.run()
    await awaited
    webhooks.endRound()
    await round
  }
  return hanging
}

const hostNames = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `silent-${at}.example.com`)

test('forty webhooks whose name servers never answer stop no poll', async () => {
  await subscribe(hostNames(4), 10)
  const nameServer = createSocket('udp4')
  const asked = new Set<string>()
  const isBusy = gate()
  nameServer.on('message', (query) => {
    asked.add(/silent-(\d)/.exec(query.toString('latin1'))?.[1] ?? '')
    if (asked.size === 4) isBusy.open()
  })
  nameServer.bind(0, '127.0.0.1')
  await once(nameServer, 'listening')
  const resolve = createStrangersResolve([`127.0.0.1:${nameServer.address().port}`])
  const webhooks = startDeliveries(createPinnedFetch({ resolve }))
  const round = webhooks.run()
  await isBusy.opened
  const rail = await serveDuringTest((_request, res) => void res.end('[]'))
  // The threads that all polls share resolve this name.
  const polled = await fetch(rail.replace('127.0.0.1', 'localhost'))
  expect(await polled.json()).toEqual([])
  webhooks.endRound()
  expect(await round).toEqual({ delivered: 0, failed: 0, dead: 0 })
  nameServer.close()
})

async function subscribeHonest(): Promise<void> {
  const wallet = evmWallet('honest')
  await makePartner(service, wallet, { handle: 'honest' })
  const body = { url: 'https://honest.example.com/hook', rails: ['olas'] }
  await partnerClient(service, wallet)('POST', '/api/v1/alerts/subscribe', body)
}

test('a hundred webhooks to tar pits do not delay an honest webhook', async () => {
  const tarPits = hostNames(10)
  const receiver = await startReceiver([
    'honest.example.com',
    ...tarPits.map((host) => `*.${host}`),
  ])
  await subscribe(tarPits, 10)
  await subscribeHonest()
  const webhooks = startDeliveries(receiver.fetch)
  expect(await webhooks.run()).toMatchObject({ delivered: 101 })
  expect(await hangingWhileDelivered(receiver, webhooks, 20)).toBe(20)
  await receiver.stop()
})

test('partners whose endpoints answer slowly leave most lanes to others', async () => {
  const slow = hostNames(33)
  const receiver = await startReceiver(['honest.example.com', ...slow.map((host) => `*.${host}`)])
  await subscribeHonest()
  const webhooks = startDeliveries(receiver.fetch)
  expect(await webhooks.run()).toMatchObject({ delivered: 1 })
  await subscribe(slow, 2)
  receiver.reply((request, res) => {
    service.clock.advance(4000)
    okReply(request, res)
  })
  expect(await webhooks.run()).toMatchObject({ delivered: 66 })
  expect(await hangingWhileDelivered(receiver, webhooks, 16)).toBe(16)
  await receiver.stop()
})
