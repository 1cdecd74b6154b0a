/** Somebody outside stalls: who waits for it is bounded, and whoever does not wait for it notices nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { createWalletChain } from '../../src/chain/wallet-chain.ts'
import { createMeter } from '../../src/metrics/meter.ts'
import { gate } from '../db/temp-database.ts'
import { publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { evmWallet, nearWallet, partnerHeaders, signedBody } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const WAIT_FOR_A_NODE = 64
const WAIT_FOR_MAIL = 32
const TOO_MANY = 9

let published: PublicDir

beforeAll(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
})
afterAll(() => published.remove())

const refusal = z.object({ code: z.string(), details: z.string() })

interface Answered {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: unknown
}

async function post(
  service: Service,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const answer = await fetch(`${service.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    body: await answer.json(),
  }
}

async function register(service: Service, wallet: TestWallet): Promise<Answered> {
  const skills = [...service.actions.reference().skills].slice(0, 1)
  const sent = await signedBody(wallet, 'register', { skills }, { nowMs: service.clock.now() })
  return await post(service, '/workers/register', sent)
}

/** Sends one after the other without waiting, and tells of each answer as it comes. */
function collect(count: number, one: (at: number) => Promise<Answered>) {
  const answers: Answered[] = []
  const all = Promise.all(
    Array.from({ length: count }, async (_, at) => answers.push(await one(at))),
  )
  return { answers, all }
}

function expectRefused(answers: readonly Answered[], details: string): void {
  expect(answers).toHaveLength(TOO_MANY)
  for (const { status, retryAfter, body } of answers) {
    expect(status).toBe(503)
    expect(retryAfter).toMatch(/^[123]$/)
    expect(refusal.parse(body)).toEqual({ code: 'unavailable', details })
  }
}

describe('a node that stalls', () => {
  test(`holds up ${WAIT_FOR_A_NODE} signatures of contract wallets, and no other write`, async () => {
    const node = await startRpcProxy('', { instead: () => ({ body: '', silent: true }) })
    const meter = createMeter()
    // Nobody gives up: they hang for as long as the test wants.
    const sleep = (_delayMs: number, signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('no longer needed')))
      })
    const chain = createWalletChain(node.url, { fetch, clock: { sleep } })
    const service = await startService(published.dir, {
      meter,
      actions: { walletChain: (kind) => (kind === 'evm' ? chain : undefined) },
    })
    // Signed by another key: its own contract may have accepted that, which only the chain can tell.
    const owner = evmWallet('owner')
    const contractWallet = (at: number) => ({ ...evmWallet(`contract ${at}`), sign: owner.sign })
    const { answers, all } = collect(WAIT_FOR_A_NODE + TOO_MANY, (at) =>
      register(service, contractWallet(at)),
    )
    await expect.poll(() => [node.posts(), answers.length]).toEqual([WAIT_FOR_A_NODE, TOO_MANY])
    const full =
      'Too many signatures wait for the node that contract wallets are asked at; nothing was done'
    expectRefused(answers, full)
    expect(meter.counter('ledger_shed_total', { room: 'chain' }).value).toBe(TOO_MANY)

    // More than the half of the room that nobody outside can take up, in two lots, and reads by signature.
    for (const lot of ['first', 'second']) {
      const others = collect(100, (at) => register(service, nearWallet(`${lot} ${at}`)))
      await others.all
      expect(others.answers.map(({ status }) => status)).toEqual(
        Array.from({ length: 100 }, () => 201),
      )
    }
    const path = '/api/v1/partners/me'
    const signed = await partnerHeaders(
      evmWallet('key'),
      { method: 'GET', path },
      { nowMs: service.clock.now() },
    )
    expect((await fetch(service.url + path, { headers: signed })).status).toBe(403)
    const foreign = await partnerHeaders(
      contractWallet(0),
      { method: 'GET', path },
      { nowMs: service.clock.now() },
    )
    const read = await fetch(service.url + path, { headers: foreign })
    expect([read.status, refusal.parse(await read.json()).details]).toEqual([503, full])
    expect(answers).toHaveLength(TOO_MANY)

    // The node is gone: those who waited are told so, and there is room again.
    await node.stop()
    await all
    const told = 'the chain of this wallet cannot be asked now'
    const waited = answers.slice(TOO_MANY).map(({ body }) => refusal.parse(body).details)
    expect(waited).toEqual(Array.from({ length: WAIT_FOR_A_NODE }, () => told))
    expect((await register(service, contractWallet(0))).body).toMatchObject({ details: told })
    await service.stop()
  })
})

describe('a mail server that stalls', () => {
  test(`holds up ${WAIT_FOR_MAIL} letters, and whoever is refused has used up no try`, async () => {
    const taken = gate()
    let letters = 0
    const service = await startService(published.dir, {
      trustedProxies: ['127.0.0.1'],
      actions: {
        mail: async () => {
          letters += 1
          await taken.opened
        },
      },
    })
    const ask = (at: number) =>
      post(
        service,
        '/claim',
        { email: `agent-${at}@example.com`, display_name: `Agent ${at}` },
        { 'X-Forwarded-For': `198.51.100.${at}` },
      )
    const { answers, all } = collect(WAIT_FOR_MAIL + TOO_MANY, ask)
    await expect.poll(() => [letters, answers.length]).toEqual([WAIT_FOR_MAIL, TOO_MANY])
    expectRefused(answers, 'Too many letters are on their way; nothing was done')
    const sends = () =>
      service.actions.database.reader.selectFrom('email_sends').select('sent_at').execute()
    expect(await sends()).toHaveLength(WAIT_FOR_MAIL)
    expect((await register(service, nearWallet('meanwhile'))).status).toBe(201)
    taken.open()
    await all
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(WAIT_FOR_MAIL)
    expect((await ask(200)).status).toBe(202)
    await service.stop()
  })
})
