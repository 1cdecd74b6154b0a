import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { checkHere } from '../../src/auth/check.ts'
import type { WalletChain } from '../../src/auth/contract-wallet.ts'
import { keyedHashOf } from '../../src/auth/keyed-hash.ts'
import { createEvmNode } from '../../src/chain/node.ts'
import { limitPolicies } from '../../src/core/limits.ts'
import type { PolicyName } from '../../src/core/limits.ts'
import type { TierName } from '../../src/core/partner.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { createRateLimits } from '../../src/limits/admission.ts'
import { createLimiter } from '../../src/limits/limiter.ts'
import type { DayCounts, Limiter } from '../../src/limits/limiter.ts'
import { createMeter } from '../../src/metrics/meter.ts'
import { gate, tempFolder } from '../db/temp-database.ts'
import { referenceWithApply } from '../support/apply.ts'
import { longTest, someOf } from '../support/exhaustive.ts'
import { handClock } from '../support/http-service.ts'
import type { Service } from '../support/http-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import {
  countOf,
  expectRefusal,
  registrationBody,
  requestJson,
  signedRequest,
  signOath,
  statusCounts,
} from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useServices } from '../support/use-service.ts'
import { evmWallet, nearWallet, partnerHeaders } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('sends thousands of signed requests')

const services = useServices()
const limited = (options: Parameters<typeof services.start>[0] = {}) =>
  services.start({ limits: 'on', ...options })

const me = '/api/v1/partners/me'

/** Repeats one signed read, which is allowed within its time window. */
async function reads(service: Service, wallet: TestWallet, count: number): Promise<Tally> {
  const nowMs = service.clock.now()
  const headers = await partnerHeaders(wallet, { method: 'GET', path: me }, { nowMs })
  return await tally(count, () => fetch(service.url + me, { headers }))
}

interface Tally {
  readonly statuses: Record<string, number>
  readonly last: Response
}

/** Sends requests 32 at a time and the last one alone, so that its answer shows the final state. */
async function tally(count: number, request: () => Promise<Response>): Promise<Tally> {
  const statuses: Record<string, number> = {}
  const one = async (): Promise<Response> => {
    const answer = await request()
    await answer.arrayBuffer()
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    return answer
  }
  for (let left = count - 1; left > 0; left -= LOT) {
    await Promise.all(Array.from({ length: Math.min(left, LOT) }, one))
  }
  return { last: await one(), statuses }
}

const LOT = 32

const alice = evmWallet('alice')

async function limitedPartner(tier: TierName = 'free'): Promise<Service> {
  const service = await limited()
  await makePartner(service, alice, { handle: 'acme', tier })
  return service
}

describe('the rate limit of a wallet', () => {
  const quotas = [
    ['free', 300],
    ['starter', 600],
    ['pro', 3000],
  ] as const
  test.each(someOf(quotas, 1))(
    'a wallet of the tier %s has exactly %d signed calls at once',
    async (...row) => {
      const [tier, quota] = row
      const service = await limitedPartner(tier)
      const { statuses, last } = await reads(service, alice, quota + 3)
      expect(statuses).toEqual({ 200: quota, 429: 3 })
      expect(last.headers.get('ratelimit-policy')).toContain(`"wallet";q=${quota};w=60`)
      expect(last.headers.get('ratelimit')).toContain('"wallet";r=0;t=1')
      expect(last.headers.get('retry-after')).toBe('1')
      service.clock.advance(60_000 / quota)
      expect((await reads(service, alice, 2)).statuses).toEqual({ 200: 1, 429: 1 })
    },
  )

  longTest('a wallet of the tier team has no rate limit and no rate limit headers', async () => {
    const service = await limitedPartner('team')
    const { statuses, last } = await reads(service, alice, 700)
    expect(statuses).toEqual({ 200: 700 })
    expect(last.headers.has('ratelimit')).toBe(false)
  })

  test('a wallet with an unpaid tier has the rate limit of a stranger', async () => {
    const service = await limited()
    const timestamp = new Date(service.clock.now()).toISOString()
    const oath_signature = await signOath(service, 'partner', alice, timestamp)
    const path = '/api/v1/partners/signup'
    const tier: TierName = 'team'
    const body = { handle: 'acme', display_name: 'Acme', tier, timestamp, oath_signature }
    const signup = await signedRequest(service, alice, { path, body })
    expect((await signup()).status).toBe(201)
    const { last } = await reads(service, alice, 1)
    expect(last.headers.get('ratelimit-policy')).toContain('"wallet";q=300;w=60')
    expect(last.headers.get('ratelimit')).toContain('"wallet";r=298;')
  })

  test('the own partner record shows the rate limit with the remaining calls', async () => {
    const service = await limitedPartner('starter')
    await reads(service, alice, 9)
    const { body } = await (await signedRequest(service, alice, { method: 'GET', path: me }))()
    expect(body).toMatchObject({ usage: { requests_remaining: 590 } })
  })

  longTest('all unregistered wallets of one network have 600 calls a minute together', async () => {
    const service = await limited()
    for (const name of ['one', 'two']) {
      const { statuses } = await tally(300, await registration(service, nearWallet(name)))
      expect(statuses).toEqual({ 200: 299, 201: 1 })
    }
    const { statuses, last } = await tally(1, await registration(service, nearWallet('three')))
    expect(statuses).toEqual({ 429: 1 })
    expect(last.headers.get('ratelimit')).toBe('"wallet";r=300;t=1, "signers";r=0;t=1')
    await makePartner(service, alice, { handle: 'acme', tier: 'starter' })
    expect((await reads(service, alice, 600)).statuses).toEqual({ 200: 600 })
  })

  longTest('forty free partners of one network have 600 calls a minute together', async () => {
    const service = await limited()
    const total: Record<string, number> = {}
    for (let at = 0; at < 40; at += 1) {
      const wallet = nearWallet(`free ${at}`)
      await makePartner(service, wallet, { handle: `free-${at}`, tier: 'free' })
      const { statuses } = await reads(service, wallet, 20)
      for (const [status, count] of Object.entries(statuses)) {
        total[status] = (total[status] ?? 0) + count
      }
    }
    expect(total).toEqual({ 200: 600, 429: 200 })
  })
})

async function registration(
  service: Service,
  wallet: TestWallet,
  from: Readonly<Record<string, string>> = {},
): Promise<() => Promise<Response>> {
  const signed = await registrationBody(service, wallet)
  return () =>
    fetch(`${service.url}/api/v1/workers/register`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...from },
      body: JSON.stringify(signed),
    })
}

/** Sends a forged call; returns how many more the network may send. */
async function leftUnproven(service: Service): Promise<number> {
  const forged = { ...evmWallet('carol'), sign: evmWallet('mallory').sign }
  const { last } = await reads(service, forged, 1)
  expect(last.status).toBe(401)
  return Number(/^"work";r=(\d+)/.exec(last.headers.get('ratelimit') ?? '')?.[1])
}

describe('rate limits of signed calls', () => {
  test('calls of a partner are neither charged to its address nor limited by it', async () => {
    const service = await limitedPartner()
    await reads(service, alice, 20)
    const health = () => fetch(`${service.url}/api/v1/health`)
    const left = (await health()).headers.get('ratelimit')
    expect(left).toMatch(/^"ip";r=119;t=\d+, "day";r=999;t=64800$/)
    expect((await tally(120, health)).statuses).toEqual({ 200: 119, 429: 1 })
    expect((await reads(service, alice, 5)).statuses).toEqual({ 200: 5 })
  })

  test.each([
    [
      'public reads with credentials',
      '/api/v1/rails',
      { Authorization: `Bearer ${alice.address}:0xab` },
      200,
    ],
    ['partner reads without credentials', me, {}, 401],
  ])('charges %s to the address', async (_reads, path, headers, status) => {
    const { url } = await limited()
    const { statuses } = await tally(121, () => fetch(url + path, { headers }))
    expect(statuses).toEqual({ [status]: 120, 429: 1 })
  })

  longTest('failed signatures are limited by network before verification', async () => {
    const service = await limited()
    const nowMs = service.clock.now()
    const mallory = evmWallet('mallory')
    const forged = { ...alice, sign: mallory.sign }
    const headers = await partnerHeaders(forged, { method: 'GET', path: me }, { nowMs })
    const { statuses, last } = await tally(605, () => fetch(service.url + me, { headers }))
    expect(statuses).toEqual({ 401: 600, 429: 5 })
    expect(last.headers.get('ratelimit')).toBe('"work";r=0;t=1')
    service.clock.advance(800)
    expect((await tally(2, () => fetch(service.url + me, { headers }))).statuses).toEqual({
      401: 1,
      429: 1,
    })
  })

  longTest(
    'a /64 locks out no neighbours, and a /48 may send ten times as many failed signatures',
    async () => {
      const service = await limited({ trustedProxies: ['127.0.0.1'] })
      await makePartner(service, alice, { handle: 'acme', tier: 'starter' })
      const nowMs = service.clock.now()
      const forged = { ...evmWallet('bob'), sign: evmWallet('mallory').sign }
      const from = async (wallet: TestWallet, address: string, count: number) => {
        const headers = await partnerHeaders(wallet, { method: 'GET', path: me }, { nowMs })
        const request = { headers: { ...headers, 'X-Forwarded-For': address } }
        return (await tally(count, () => fetch(service.url + me, request))).statuses
      }
      for (let block = 0; block < 9; block += 1) {
        expect(await from(forged, `2001:db8:0:${block}::1`, 601)).toEqual({ 401: 600, 429: 1 })
      }
      expect(await from(alice, '2001:db8:0:9::1', 20)).toEqual({ 200: 20 })
      expect(await from(forged, '2001:db8:0:9::1', 600)).toEqual({ 401: 600 })
      expect(await from(evmWallet('carol'), '2001:db8:0:a::1', 1)).toEqual({ 429: 1 })
      // Its signature was verified in this network before.
      expect(await from(alice, '2001:db8:0:9::1', 61)).toEqual({ 200: 60, 429: 1 })
    },
  )

  test('calls beyond the limit of a wallet, repeated bodies and forged ones too, are not charged to its network or verified', async () => {
    let checks = 0
    const meter = createMeter()
    const service = await limited({
      meter,
      actions: {
        signatures: {
          check: async (check) => {
            checks += 1
            return await checkHere(check)
          },
        },
      },
    })
    const register = await registration(service, alice)
    expect((await tally(300, register)).statuses).toEqual({ 201: 1, 200: 299 })
    const checked = checks
    const { statuses, last } = await tally(100, register)
    expect(statuses).toEqual({ 429: 100 })
    expect(last.headers.get('ratelimit')).toBe('"wallet";r=0;t=1, "signers";r=300;t=31')
    const forged = { ...alice, sign: evmWallet('mallory').sign }
    for (const wallet of [alice, forged]) {
      expect(await reads(service, wallet, 1)).toMatchObject({ statuses: { 429: 1 } })
    }
    expect(checks).toBe(checked)
    expect(meter.counter('ledger_limiter_refusals_total', { policy: 'wallet' }).value).toBe(102)
    // Each refused call costs 5 units and a failed signature costs 20.
    expect(await leftUnproven(service)).toBe(12_000 - 102 * 5 - 20)
    service.clock.advance(200)
    expect((await tally(2, register)).statuses).toEqual({ 200: 1, 429: 1 })
  })

  test('concurrent calls of a wallet beyond its limit are not charged to its network', async () => {
    const checked = gate()
    let checks = 0
    const service = await limited({
      actions: {
        signatures: {
          check: async (check) => {
            checks += 1
            if (checks > 299) await checked.opened
            return await checkHere(check)
          },
        },
      },
    })
    const register = await registration(service, alice)
    await tally(299, register)
    // Both calls pass the first check, since the wallet has a call left.
    const calls = [register(), register()]
    await expect.poll(() => checks).toBe(301)
    checked.open()
    const statuses = await Promise.all(calls)
    expect(statusCounts(statuses)).toEqual({ 200: 1, 429: 1 })
    expect(await leftUnproven(service)).toBe(12_000 - 5 - 20)
    expect((await register()).headers.get('ratelimit')).toMatch(/^"wallet";r=0;/)
    expect(await leftUnproven(service)).toBe(12_000 - 2 * 5 - 40)
  })

  longTest(
    'a flood of a wallet at its limit is refused early, while other networks continue to write',
    async () => {
      const meter = createMeter()
      const service = await limited({ meter, trustedProxies: ['127.0.0.1'] })
      const refusals = (policy: PolicyName) =>
        meter.counter('ledger_limiter_refusals_total', { policy }).value
      const register = await registration(service, alice, { 'X-Forwarded-For': '198.51.100.1' })
      await tally(300, register)
      const flood = async (count: number) => {
        const answers = Array.from({ length: count }, register)
        for (const answer of answers) await (await answer).arrayBuffer()
      }
      while (refusals('work') === 0) await flood(350)

      const neighbour = { 'X-Forwarded-For': '203.0.113.1' }
      for (const name of ['one', 'two']) {
        const write = await registration(service, nearWallet(name), neighbour)
        const flooded = flood(350)
        expect((await write()).status).toBe(201)
        await flooded
      }
      // A signed request is admitted while 20 units are left, and each refused one costs 5 of them.
      for (let before = -1; before < refusals('wallet'); await flood(50))
        before = refusals('wallet')
      expect(refusals('wallet')).toBe((12_000 - 20) / 5 + 1)

      // After the time of 5 units and of one call: one call passes, one is over the limit of the wallet, one is refused early.
      service.clock.advance(200)
      const later = [await register(), await register(), await register()]
      expect(later.map(({ status }) => status)).toEqual([200, 429, 429])
      expect(later[2]?.headers.get('ratelimit')).toMatch(/^"work";r=0;/)
      expect(refusals('wallet')).toBe((12_000 - 20) / 5 + 2)
    },
  )

  test('an internal failure of a signed call is charged to nobody', async () => {
    const limiter = createLimiter(handClock(), 2 ** 12)
    const { admit } = createRateLimits({
      limiter,
      networkOf: () => ({ host: 5, range: null }),
      termsOf: () => Promise.reject(new Error('disk I/O error')),
      walletKey: () => 7,
    })
    const wallet = parseWallet(alice.address)
    for (const stage of ['precheck', 'charge'] as const) {
      const call = admit('198.51.100.1', { isSigned: true, isApi: true })
      expect(call.refusal).toBeNull()
      await expect(call[stage](wallet)).rejects.toThrow('disk I/O error')
      expect([stage, limiter.remaining({ policy: 'work', key: 5 })]).toEqual([stage, 12_000])
    }
  })
})

test('an e-mail, and an application of a free partner, cost their network a request to a third party', async () => {
  const apply = { endpoint: 'https://apply.example.com/', body: { text: '{message}' }, fields: {} }
  const reference = await referenceWithApply(apply)
  const sent: string[] = []
  const service = await limited({
    actions: {
      reference: () => reference,
      outbound: {
        mail: ({ to }) => Promise.resolve(void sent.push(to)),
        send: ({ url }) => {
          sent.push(url)
          return Promise.resolve({ status: 200, contentType: null, body: Buffer.alloc(0) })
        },
      },
    },
  })
  const claim = { body: { email: 'agent@example.com', display_name: 'Agent' } }
  const application = { rail: 'olas', worker_wallet: alice.address, message: 'I can do this.' }
  const applyAs = async (tier: TierName) => {
    const wallet = nearWallet(tier)
    await makePartner(service, wallet, { handle: tier, tier })
    return await partnerClient(service, wallet)('POST', '/api/v1/opportunities/apply', application)
  }
  const left = [await leftUnproven(service)]
  expect((await requestJson(service, '/api/v1/claim', claim)).status).toBe(202)
  left.push(await leftUnproven(service))
  for (const tier of ['free', 'starter'] as const) {
    expect((await applyAs(tier)).status).toBe(201)
    left.push(await leftUnproven(service))
  }
  expect(sent).toEqual(['agent@example.com', apply.endpoint, apply.endpoint])
  // A forged call, as a claim that no wallet signs, costs 20 units, and a request to a third party 50.
  expect(left).toEqual([11_980, 11_890, 11_820, 11_800])
})

test('failed signatures of contract wallets from one network cause at most 200 checks by a node', async () => {
  let checks = 0
  const block = { number: '0x1', hash: `0x${'1'.repeat(64)}`, timestamp: '0x1' }
  const chain: WalletChain = {
    node: createEvmNode('base', (method) => {
      if (method === 'eth_getCode') checks += 1
      const answers: Readonly<Record<string, unknown>> = {
        eth_chainId: '0x2105',
        eth_getBlockByNumber: block,
        eth_getCode: '0x',
      }
      return Promise.resolve(answers[method])
    }),
    clock: { sleep: () => new Promise(() => undefined) },
  }
  const service = await limited({
    actions: { signatures: { walletChain: (kind) => (kind === 'evm' ? chain : undefined) } },
    trustedProxies: ['127.0.0.1'],
  })
  const nowMs = service.clock.now()
  const forged = { ...evmWallet('contract'), sign: evmWallet('mallory').sign }
  const headers = await partnerHeaders(forged, { method: 'GET', path: me }, { nowMs })
  const statusFrom = async (address: string) =>
    (await fetch(service.url + me, { headers: { ...headers, 'X-Forwarded-For': address } })).status
  const statuses: number[] = []
  for (let at = 0; at < 130; at += 1) statuses.push(await statusFrom('198.51.100.1'))
  // A failed signature costs 20 of the 12,000 units, and each of its two checks by the node 50.
  expect(countOf(statuses)).toEqual({ 401: 100, 429: 30 })
  expect(checks).toBe(200)
  expect(await statusFrom('203.0.113.1')).toBe(401)
})

test('a wallet stores 8 MB a day times the multiplier of its paid tier, however many networks it uses', async () => {
  const service = await limited()
  await makePartner(service, alice, { handle: 'paid', tier: 'starter' })
  const send = partnerClient(service, alice)
  const body = {
    title: 'Fill the disk',
    description: '🦊'.repeat(8000),
    skills: ['technical-writing'],
    budget_usdc: 1,
    deadline: isoTime(service.clock.now() + 3 * dayMs),
  }
  for (let bytes = 0; ;) {
    service.clock.advance(1000)
    const posted = await send('POST', '/api/v1/jobs', body)
    if (posted.status !== 201) {
      expectRefusal(posted, 429, 'rate_limited')
      expect(posted.body['details']).toBe(
        'More than 8000000 bytes of writes in a UTC day per wallet, times the multiplier of its tier; send shorter texts, wait for the next day, or subscribe to a higher tier',
      )
      expect(bytes).toBeGreaterThan(15_800_000)
      break
    }
    const cancelled = await send('POST', `/api/v1/jobs/${String(posted.body['id'])}/cancel`, {})
    for (const sent of [body, posted.body, cancelled.body]) bytes += jsonBytes(sent)
    expect(bytes).toBeLessThan(16_000_000)
  }
})

const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

describe('the daily count after a restart', () => {
  const hash = keyedHashOf(Buffer.alloc(32, 7))

  async function restart(path: string, clock = handClock()): Promise<Service> {
    return await limited({ databasePath: path, clock, actions: { keys: { hash } } })
  }

  const dayLeft = async (service: Service): Promise<string | undefined> => {
    const health = await fetch(`${service.url}/api/v1/health`)
    return /"day";r=(\d+)/.exec(health.headers.get('ratelimit') ?? '')?.[1]
  }

  /** Reads `before` documents, flushes the count, then reads `after` more. */
  async function readAndFlush(path: string, before: number, after = 0): Promise<Service> {
    const service = await restart(path)
    const read = () => fetch(`${service.url}/api/v1/rails`)
    await tally(before, read)
    await service.app.counters.flush()
    if (after > 0) await tally(after, read)
    return service
  }

  test('the daily count after a restart is that of the last flush', async () => {
    const path = join(tempFolder(), 'ledger.db')
    await readAndFlush(path, 50, 20)
    const crashed = await restart(path)
    expect(await dayLeft(crashed)).toBe('949')
    await crashed.stop()
    expect(await dayLeft(await restart(path))).toBe('948')
  })

  test('the daily count after a restart starts at zero on another day', async () => {
    const path = join(tempFolder(), 'ledger.db')
    await readAndFlush(path, 50)
    const tomorrow = handClock(Date.UTC(2026, 10, 22))
    expect(await dayLeft(await restart(path, tomorrow))).toBe('999')
  })

  test('a restart keeps the daily units of storage, which limit a network without a paid tier', async () => {
    const path = join(tempFolder(), 'ledger.db')
    const register = async (service: Service, name: string) => {
      const body = await registrationBody(service, evmWallet(name))
      return await requestJson(service, '/api/v1/workers/register', { body })
    }
    const first = await restart(path)
    expect((await register(first, 'one')).status).toBe(201)
    await first.app.counters.flush()
    const { db } = first.actions.database
    const saved = await db.selectFrom('persisted_counters').selectAll().orderBy('name').execute()
    // With PostgreSQL the name of the host follows.
    expect(saved.map(({ name }) => name.split(' ')[0])).toEqual(['stored', 'wallet_bytes'])
    const [{ name, body } = { name: '', body: Buffer.alloc(4) }] = saved
    const units = body.readUInt32LE(body.length - 4)
    const { quota } = limitPolicies.stored
    body.writeUInt32LE(quota - units, body.length - 4)
    await db.updateTable('persisted_counters').set({ body }).where('name', '=', name).execute()
    await first.app.counters.flush()
    const service = await restart(path)
    expect((await register(service, 'two')).status).toBe(201)
    const refused = await register(service, 'three')
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.body['details']).toContain(`More than ${quota} units of storage in a UTC day`)
    await makePartner(service, evmWallet('paid'), { handle: 'paid', tier: 'starter' })
    expect((await register(service, 'paid')).status).toBe(201)
    service.clock.advance(dayMs)
    expect((await register(service, 'four')).status).toBe(201)
  })

  const dayOf = ({ days: [counts] }: Limiter): DayCounts => {
    if (counts === undefined) throw new Error('the limiter counts no days')
    return counts
  }

  test('the daily count is not loaded from truncated bytes or a table of another size', () => {
    const clock = handClock()
    const claim = [{ policy: 'day' as const, key: 0x1f_ffff_1234_5678 }]
    const limiter = createLimiter(clock, 2 ** 12)
    for (let at = 0; at < 1000; at += 1) limiter.take(claim)
    const saved = dayOf(limiter).save()
    expect(saved).toHaveLength(24)
    const same = createLimiter(clock, 2 ** 12)
    dayOf(same).load(saved)
    expect(same.take(claim)).toBe(false)
    for (const [slots, bytes] of [
      [2 ** 11, saved],
      [2 ** 12, saved.subarray(0, 23)],
      [2 ** 12, Buffer.alloc(0)],
    ] as const) {
      const other = createLimiter(clock, slots)
      dayOf(other).load(bytes)
      expect(other.take(claim)).toBe(true)
    }
  })
})
