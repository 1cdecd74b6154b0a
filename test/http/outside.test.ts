/** A stalled third party delays a bounded number of requests, and no request that does not depend on it. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { loadReference } from '../../src/actions/reference.ts'
import type { Reference } from '../../src/actions/reference.ts'
import { createWalletChain } from '../../src/auth/wallet-chain.ts'
import { createMeter } from '../../src/metrics/meter.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import { gate } from '../db/temp-database.ts'
import type { Service } from '../support/http-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { registrationBody, requestJson } from '../support/requests.ts'
import type { JsonAnswer } from '../support/requests.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { useServices } from '../support/use-service.ts'
import { evmWallet, nearWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const WAIT_FOR_A_NODE = 64
const WAIT_FOR_MAIL = 32
const WAIT_FOR_A_RAIL = 32
/** Half of the writes that may be under way. */
const OTHERS = 128
const TOO_MANY = 9

const services = useServices()

const refusal = z.object({ code: z.string(), details: z.string() })

const register = async (service: Service, wallet: TestWallet) =>
  requestJson(service, '/api/v1/workers/register', {
    body: await registrationBody(service, wallet),
  })

/** Sends requests without waiting and collects the answers in order of arrival. */
function collect(count: number, one: (at: number) => Promise<JsonAnswer>) {
  const answers: JsonAnswer[] = []
  const all = Promise.all(
    Array.from({ length: count }, async (_, at) => answers.push(await one(at))),
  )
  return { answers, all }
}

function expectRefused(answers: readonly JsonAnswer[], details: string): void {
  expect(answers).toHaveLength(TOO_MANY)
  for (const { status, headers, body } of answers) {
    expect(status).toBe(503)
    expect(headers.get('retry-after')).toMatch(/^[123]$/)
    expect(refusal.parse(body)).toEqual({ code: 'unavailable', details })
  }
}

/** Nobody gives up: they hang for as long as the test wants. */
const patient = (_delayMs: number, signal?: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('no longer needed')))
  })

const startSilentNode = () => startRpcProxy('', { instead: () => ({ body: '', silent: true }) })

/** Signed by another key: its own contract may have accepted that, which only the chain can tell. */
const owner = evmWallet('owner')
const contractWallet = (at: number) => ({ ...evmWallet(`contract ${at}`), sign: owner.sign })

/** From an address of its own. */
const askForCode = (service: Service, at: number) =>
  requestJson(service, '/api/v1/claim', {
    body: { email: `agent-${at}@example.com`, display_name: `Agent ${at}` },
    headers: { 'X-Forwarded-For': `198.51.100.${at}` },
  })

describe('a stalled node', () => {
  test(`delays ${WAIT_FOR_A_NODE} signatures of contract wallets and no other write`, async () => {
    const node = await startSilentNode()
    const meter = createMeter()
    const chain = createWalletChain(node.url, { fetch, clock: { sleep: patient } })
    const service = await services.start({
      meter,
      actions: { walletChain: (kind) => (kind === 'evm' ? chain : undefined) },
    })
    const { answers, all } = collect(WAIT_FOR_A_NODE + TOO_MANY, (at) =>
      register(service, contractWallet(at)),
    )
    await expect.poll(() => [node.posts(), answers.length]).toEqual([WAIT_FOR_A_NODE, TOO_MANY])
    const full =
      'Too many signatures are waiting for the chain node that checks contract wallets; nothing was done'
    expectRefused(answers, full)
    expect(meter.counter('ledger_requests_shed_total', { limit: 'chain' }).value).toBe(TOO_MANY)

    expect((await register(service, nearWallet('meanwhile'))).status).toBe(201)
    const path = '/api/v1/partners/me'
    expect((await partnerClient(service, evmWallet('key'))('GET', path)).status).toBe(403)
    const read = await partnerClient(service, contractWallet(0))('GET', path)
    expect([read.status, read.body['details']]).toEqual([503, full])
    expect(answers).toHaveLength(TOO_MANY)

    // The node is gone: the waiting requests fail, and their places are free again.
    await node.stop()
    await all
    const told = 'the chain of this wallet is unavailable'
    const waited = answers.slice(TOO_MANY).map(({ body }) => refusal.parse(body).details)
    expect(waited).toEqual(Array.from({ length: WAIT_FOR_A_NODE }, () => told))
    expect((await register(service, contractWallet(0))).body).toMatchObject({ details: told })
  })
})

describe('a stalled mail server', () => {
  test(`delays ${WAIT_FOR_MAIL} e-mails, and refused requests do not count as attempts`, async () => {
    const taken = gate()
    let emails = 0
    const service = await services.start({
      trustedProxies: ['127.0.0.1'],
      actions: {
        mail: async () => {
          emails += 1
          await taken.opened
        },
      },
    })
    const { answers, all } = collect(WAIT_FOR_MAIL + TOO_MANY, (at) => askForCode(service, at))
    await expect.poll(() => [emails, answers.length]).toEqual([WAIT_FOR_MAIL, TOO_MANY])
    expectRefused(answers, 'Too many e-mails are being sent; nothing was done')
    const sends = () =>
      service.actions.database.reader.selectFrom('email_sends').select('sent_at').execute()
    expect(await sends()).toHaveLength(WAIT_FOR_MAIL)
    expect((await register(service, nearWallet('meanwhile'))).status).toBe(201)
    taken.open()
    await all
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(WAIT_FOR_MAIL)
    expect((await askForCode(service, 200)).status).toBe(202)
  })
})

describe('a node, a mail server and a rail that stall at the same time', () => {
  test(`occupy half of the concurrency limit, and ${OTHERS} concurrent other writes succeed`, async () => {
    const node = await startSilentNode()
    const chain = createWalletChain(node.url, { fetch, clock: { sleep: patient } })
    const taken = gate()
    const waiting = { emails: 0, applications: 0 }
    const reference = await withApply()
    const service = await services.start({
      trustedProxies: ['127.0.0.1'],
      actions: {
        walletChain: (kind) => (kind === 'evm' ? chain : undefined),
        reference: () => reference,
        mail: async () => {
          waiting.emails += 1
          await taken.opened
        },
        outbound: async () => {
          waiting.applications += 1
          await taken.opened
          throw new OutboundError('timeout', 'No complete response within 10 s')
        },
      },
    })
    // None has more applications than its quota.
    const partners = ['a', 'b', 'c'].map((name) => nearWallet(`partner ${name}`))
    const clients = await Promise.all(
      partners.map(async (wallet, at) => {
        await makePartner(service, wallet, { handle: `partner-${at}` })
        return partnerClient(service, wallet)
      }),
    )
    const path = '/api/v1/opportunities/apply'
    const applyAs = (at: number) => {
      const send = clients[at % clients.length]
      if (send === undefined) throw new Error('there is no such partner')
      const body = { rail: 'olas', worker_wallet: evmWallet('w').address, message: `No. ${at}` }
      return send('POST', path, body)
    }
    const stalled = [
      collect(WAIT_FOR_A_NODE + TOO_MANY, (at) => register(service, contractWallet(at))),
      collect(WAIT_FOR_MAIL + TOO_MANY, (at) => askForCode(service, at)),
      collect(WAIT_FOR_A_RAIL + TOO_MANY, applyAs),
    ]
    const refused = () => stalled.map(({ answers }) => answers.map(({ status }) => status))
    const tooMany = Array.from({ length: TOO_MANY }, () => 503)
    await expect.poll(refused).toEqual([tooMany, tooMany, tooMany])
    await expect
      .poll(() => ({ ...waiting, signatures: node.posts() }))
      .toEqual({
        signatures: WAIT_FOR_A_NODE,
        emails: WAIT_FOR_MAIL,
        applications: WAIT_FOR_A_RAIL,
      })

    const others = collect(OTHERS, (at) => register(service, nearWallet(`other ${at}`)))
    await others.all
    expect(others.answers.map(({ status }) => status)).toEqual(
      Array.from({ length: OTHERS }, () => 201),
    )
    expect(refused()).toEqual([tooMany, tooMany, tooMany])

    taken.open()
    await node.stop()
    await Promise.all(stalled.map(({ all }) => all))
  })
})

/** The authored rails, one of which takes forwarded applications. */
async function withApply(): Promise<Reference> {
  const authored = await loadReference('data')
  const olas = authored.rails.get('olas')
  if (olas === undefined) throw new Error('there is no rail olas')
  const apply = {
    endpoint: 'https://apply.example.com/',
    body: { text: '{message}' },
    fields: {},
  }
  return { ...authored, rails: new Map(authored.rails).set('olas', { ...olas, apply }) }
}
