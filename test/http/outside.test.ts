/** A stalled third party delays a bounded number of requests, and no request that does not depend on it. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import { createServiceNode } from '../../src/chain/node.ts'
import { hourMs } from '../../src/core/time.ts'
import { createMeter } from '../../src/metrics/meter.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { gate } from '../db/temp-database.ts'
import { referenceWithApply } from '../support/apply.ts'
import type { Service } from '../support/http-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { collect, registrationBody, requestJson, statusCounts } from '../support/requests.ts'
import type { JsonAnswer } from '../support/requests.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { useServices } from '../support/use-service.ts'
import { evmWallet, nearWallet, partnerHeaders } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const WAIT_FOR_A_NODE = 64
const WAIT_FOR_MAIL = 32
const WAIT_FOR_A_RAIL = 32
/** Half of the writes that may be under way. */
const OTHERS = 128
const TOO_MANY = 9
const AT_ONCE_OF_A_NETWORK = 2
const SHARE = 32

const services = useServices()

const refusal = z.object({ code: z.string(), details: z.string() })

const register = async (service: Service, wallet: TestWallet) =>
  requestJson(service, '/api/v1/workers/register', {
    body: await registrationBody(service, wallet),
  })

function expectRefused(answers: readonly JsonAnswer[], details: string): void {
  expect(answers).toHaveLength(TOO_MANY)
  for (const { status, headers, body } of answers) {
    expect(status).toBe(503)
    expect(headers.get('retry-after')).toMatch(/^[123]$/)
    expect(refusal.parse(body)).toEqual({ code: 'unavailable', details })
  }
}

/** Waits until it is aborted, so that no request times out. */
const patient = (_delayMs: number, signal?: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('no longer needed')))
  })

async function stalledChain() {
  const node = await startRpcProxy('', { instead: () => ({ body: '', silent: true }) })
  const deps = { fetch, clock: systemClock, random: systemRandom, timeoutMs: hourMs }
  return { node, chain: { node: createServiceNode(node.url, deps), clock: { sleep: patient } } }
}

/** Wallets whose signatures are made by another key: only their contract on the chain can accept them. */
const owner = evmWallet('owner')
const contractWallet = (at: number) => ({ ...evmWallet(`contract ${at}`), sign: owner.sign })

/** Requests a code by e-mail from a different address each time. */
const askForCode = (service: Service, at: number) =>
  requestJson(service, '/api/v1/claim', {
    body: { email: `agent-${at}@example.com`, display_name: `Agent ${at}` },
    headers: { 'X-Forwarded-For': `198.51.100.${at}` },
  })

/** Applies alternately as three partners, so that none exceeds its quota. */
async function applicants(service: Service) {
  const clients = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const wallet = nearWallet(`partner ${name}`)
      await makePartner(service, wallet, { handle: `partner-${name}` })
      return partnerClient(service, wallet)
    }),
  )
  return (at: number) => {
    const send = clients[at % clients.length]
    if (send === undefined) throw new Error('there is no such partner')
    const body = { rail: 'olas', worker_wallet: evmWallet('w').address, message: `No. ${at}` }
    return send('POST', '/api/v1/opportunities/apply', body)
  }
}

const NODE_FULL =
  'Too many signatures are waiting for the chain node that checks contract wallets; nothing was done'

test(`a node, a mail server and a rail that stall together occupy half of the write limit, and ${OTHERS} concurrent other writes succeed`, async () => {
  const { node, chain } = await stalledChain()
  const taken = gate()
  const waiting = { emails: 0, applications: 0 }
  const reference = await referenceWithApply({
    endpoint: 'https://apply.example.com/',
    body: { text: '{message}' },
    fields: {},
  })
  const meter = createMeter()
  const service = await services.start({
    meter,
    trustedProxies: ['127.0.0.1'],
    actions: {
      signatures: { walletChain: (kind) => (kind === 'evm' ? chain : undefined) },
      reference: () => reference,
      outbound: {
        mail: async () => {
          waiting.emails += 1
          await taken.opened
        },
        send: async () => {
          waiting.applications += 1
          await taken.opened
          throw new OutboundError('timeout', 'No complete response within 10 s')
        },
      },
    },
  })
  const applyAs = await applicants(service)
  const signatures = collect(WAIT_FOR_A_NODE + TOO_MANY, (at) =>
    register(service, contractWallet(at)),
  )
  const emails = collect(WAIT_FOR_MAIL + TOO_MANY, (at) => askForCode(service, at))
  const applications = collect(WAIT_FOR_A_RAIL + TOO_MANY, applyAs)
  const refused = () => [signatures, emails, applications].map(({ answers }) => answers.length)
  await expect.poll(refused).toEqual([TOO_MANY, TOO_MANY, TOO_MANY])
  await expect
    .poll(() => ({ ...waiting, signatures: node.posts() }))
    .toEqual({ signatures: WAIT_FOR_A_NODE, emails: WAIT_FOR_MAIL, applications: WAIT_FOR_A_RAIL })
  expectRefused(signatures.answers, NODE_FULL)
  expectRefused(emails.answers, 'Too many e-mails are being sent; nothing was done')
  const railFull = 'Too many requests to other sites are in progress; nothing was done'
  expectRefused(applications.answers, railFull)
  expect(meter.counter('ledger_requests_shed_total', { limit: 'chain' }).value).toBe(TOO_MANY)
  // A refused request does not count as an attempt.
  const { reader } = service.actions.database
  const sends = await reader.selectFrom('email_sends').select('sent_at').execute()
  expect(sends).toHaveLength(WAIT_FOR_MAIL)

  const others = collect(OTHERS, (at) => register(service, nearWallet(`other ${at}`)))
  await others.all
  expect(statusCounts(others.answers)).toEqual({ 201: OTHERS })
  const path = '/api/v1/partners/me'
  expect((await partnerClient(service, evmWallet('key'))('GET', path)).status).toBe(403)
  const read = await partnerClient(service, contractWallet(0))('GET', path)
  expect([read.status, read.body['details']]).toEqual([503, NODE_FULL])
  expect(refused()).toEqual([TOO_MANY, TOO_MANY, TOO_MANY])

  // The stall ends: waiting requests receive their answers, and their places are free again.
  taken.open()
  await node.stop()
  await Promise.all([signatures.all, emails.all, applications.all])
  const unavailable = 'the chain of this wallet is unavailable'
  const waited = signatures.answers.slice(TOO_MANY)
  expect(new Set(waited.map(({ body }) => body['details']))).toEqual(new Set([unavailable]))
  const again = await register(service, contractWallet(0))
  expect(again.body).toMatchObject({ details: unavailable })
  expect(statusCounts(emails.answers)).toEqual({ 202: WAIT_FOR_MAIL, 503: TOO_MANY })
  expect((await askForCode(service, 200)).status).toBe(202)
})

test('one network occupies 2 of the places for signatures of contract wallets, with payments half of them, and other networks have the others', async () => {
  const { node, chain } = await stalledChain()
  const service = await services.start({
    limits: 'on',
    trustedProxies: ['127.0.0.1'],
    actions: { signatures: { walletChain: (kind) => (kind === 'evm' ? chain : undefined) } },
  })
  const registerFrom = async (address: string, wallet: TestWallet) =>
    requestJson(service, '/api/v1/workers/register', {
      body: await registrationBody(service, wallet),
      headers: { 'X-Forwarded-For': address },
    })
  const own = collect(AT_ONCE_OF_A_NETWORK + TOO_MANY, (at) =>
    registerFrom('198.51.100.1', contractWallet(at)),
  )
  await expect.poll(() => node.posts()).toBe(AT_ONCE_OF_A_NETWORK)
  const paid = collect(SHARE - AT_ONCE_OF_A_NETWORK + TOO_MANY, async (at) => {
    const line = { method: 'GET', path: '/api/v1/arbitrage' }
    const nowMs = service.clock.now()
    const signed = await partnerHeaders(contractWallet(at), line, { nowMs })
    const headers = { ...signed, 'X-PAYMENT': 'e30=', 'X-Forwarded-For': '198.51.100.1' }
    return await requestJson(service, line.path, { headers })
  })
  await expect.poll(() => [node.posts(), paid.answers.length]).toEqual([SHARE, TOO_MANY])
  expectRefused(paid.answers, NODE_FULL)
  const others = collect(WAIT_FOR_A_NODE - SHARE, (at) =>
    registerFrom(`203.0.113.${at}`, contractWallet(100 + at)),
  )
  await expect.poll(() => node.posts()).toBe(WAIT_FOR_A_NODE)
  expect([own.answers, others.answers]).toEqual([[], []])
  await node.stop()
  await Promise.all([own.all, paid.all, others.all])
})
