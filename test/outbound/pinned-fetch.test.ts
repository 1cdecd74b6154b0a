import { beforeEach, describe, expect, test } from 'vitest'

import { OutboundError, createPinnedFetch, samePeer } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { startReceiver } from '../support/https-receiver.ts'
import type { Receiver } from '../support/https-receiver.ts'

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver(['hooks.example.com', 'other.example.com'])
  return () => receiver.stop()
})

const limits = { timeoutMs: 5000, maxAnswerBytes: 65_536 }
const request = {
  url: 'https://hooks.example.com/in?x=1',
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: '{"a":1}',
} as const

async function faultOf(answer: Promise<unknown>): Promise<string> {
  try {
    await answer
  } catch (error) {
    if (error instanceof OutboundError) return error.fault
    throw error
  }
  return 'none'
}

const withResolver = (...answers: readonly (readonly string[])[]): PinnedFetch => {
  let asked = 0
  return createPinnedFetch({
    resolve: () => {
      asked += 1
      return Promise.resolve(answers[asked - 1] ?? [])
    },
    testNetwork: receiver.network,
  })
}

test('a request arrives with its host, its body and the given headers only', async () => {
  receiver.reply((_request, res) => {
    res.writeHead(201, { 'Content-Type': 'text/plain' }).end('thanks')
  })
  const answer = await receiver.fetch(request, limits)
  expect(answer).toEqual({ status: 201, contentType: 'text/plain', body: Buffer.from('thanks') })
  const [received] = receiver.requests
  expect(received).toMatchObject({ method: 'POST', path: '/in?x=1', body: '{"a":1}' })
  expect(received?.headers).toEqual({
    'content-type': 'application/json',
    host: 'hooks.example.com',
    'accept-encoding': 'identity',
    'content-length': '7',
    connection: 'close',
  })
})

test('a certificate for another name or from an unknown authority is refused', async () => {
  const elsewhere = { ...request, url: 'https://third.example.com/' }
  expect(await faultOf(receiver.fetch(elsewhere, limits))).toBe('unreachable')
  const stranger = createPinnedFetch({
    resolve: () => Promise.resolve(['127.0.0.1']),
    testNetwork: { ...receiver.network, ca: (await startAndStop()).network.ca },
  })
  expect(await faultOf(stranger(request, limits))).toBe('unreachable')
  expect(receiver.requests).toEqual([])
})

async function startAndStop(): Promise<Receiver> {
  const other = await startReceiver()
  await other.stop()
  return other
}

test('a URL that is not https on port 443 to a host name is never resolved', async () => {
  let asked = 0
  const pinned = createPinnedFetch({
    resolve: () => {
      asked += 1
      return Promise.resolve(['127.0.0.1'])
    },
    testNetwork: receiver.network,
  })
  for (const url of ['http://hooks.example.com/', 'https://127.0.0.1/', 'https://[::1]/']) {
    expect(await faultOf(pinned({ ...request, url }, limits))).toBe('refused_url')
  }
  expect(asked).toBe(0)
})

describe('against DNS rebinding', () => {
  test('one private address among public ones refuses the name without a connection', async () => {
    const real = createPinnedFetch({
      resolve: () => Promise.resolve(['93.184.215.14', '127.0.0.1']),
    })
    expect(await faultOf(real(request, limits))).toBe('refused_address')
    const tested = withResolver(['127.0.0.1', '10.0.0.1'])
    expect(await faultOf(tested(request, limits))).toBe('refused_address')
    expect(receiver.connections()).toBe(0)
  })

  test('the host name of a request is resolved once', async () => {
    const pinned = withResolver(['127.0.0.1'], ['169.254.169.254'])
    expect((await pinned(request, limits)).status).toBe(200)
    expect(receiver.connections()).toBe(1)
  })

  test('a later loopback address of the resolver is never connected to', async () => {
    // 127.0.0.2 represents a public address where no server listens.
    const answers = [['127.0.0.2'], ['127.0.0.1']]
    let asked = 0
    const pinned = createPinnedFetch({
      resolve: () => {
        asked += 1
        return Promise.resolve(answers[asked - 1] ?? [])
      },
      testNetwork: { ...receiver.network, allowAddresses: ['127.0.0.2'] },
    })
    expect(await faultOf(pinned(request, limits))).toBe('unreachable')
    expect(await faultOf(pinned(request, limits))).toBe('refused_address')
    expect(asked).toBe(2)
    expect(receiver.connections()).toBe(0)
  })

  test('loopback is refused outside of tests', async () => {
    for (const address of ['127.0.0.1', '::1', '169.254.169.254', '10.0.0.1', '::ffff:8.8.8.8']) {
      const pinned = createPinnedFetch({ resolve: () => Promise.resolve([address]) })
      expect([address, await faultOf(pinned(request, limits))]).toEqual([
        address,
        'refused_address',
      ])
    }
  })

  test('only the checked address is a valid peer, also as IPv4-mapped IPv6', () => {
    expect(samePeer('1.2.3.4', '1.2.3.4')).toBe(true)
    expect(samePeer('::ffff:1.2.3.4', '1.2.3.4')).toBe(true)
    expect(samePeer('127.0.0.1', '1.2.3.4')).toBe(false)
    expect(samePeer(undefined, '1.2.3.4')).toBe(false)
  })

  test('a name without an address and a failed resolution are reported as unresolved', async () => {
    expect(await faultOf(withResolver([])(request, limits))).toBe('unresolved')
    const failing = createPinnedFetch({ resolve: () => Promise.reject(new Error('SERVFAIL')) })
    expect(await faultOf(failing(request, limits))).toBe('unresolved')
  })
})

test('a redirect is returned as a response and never followed', async () => {
  const targets = ['http://169.254.169.254/latest/', 'https://other.example.com/', '/again']
  for (const location of targets) {
    for (const status of [301, 302, 303, 307, 308]) {
      receiver.reply((_request, res) => void res.writeHead(status, { Location: location }).end())
      const before = receiver.connections()
      expect((await receiver.fetch(request, limits)).status).toBe(status)
      expect(receiver.connections()).toBe(before + 1)
    }
  }
})

describe('at its limits', () => {
  test('the size limit of a response is exact to the byte', async () => {
    const reply = (bytes: number) => {
      receiver.reply((_request, res) => void res.writeHead(200).end(Buffer.alloc(bytes)))
    }
    reply(limits.maxAnswerBytes)
    expect((await receiver.fetch(request, limits)).body).toHaveLength(limits.maxAnswerBytes)
    reply(limits.maxAnswerBytes + 1)
    expect(await faultOf(receiver.fetch(request, limits))).toBe('too_large')
  })

  test('a request with a silent resolver ends at its deadline', async () => {
    const pinned = createPinnedFetch({ resolve: () => new Promise(() => undefined) })
    expect(await faultOf(pinned(request, { ...limits, timeoutMs: 50 }))).toBe('timeout')
  })
})
