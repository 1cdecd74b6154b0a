/**
 * Whatever goes wrong between the payer, the service and the chain, a payer gets once what was paid for, or is not
 * charged; and nobody learns a key or a signature from it.
 */
import { encodeEventTopics } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { listPayments } from '../../src/db/payments/lists.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { rpcError, rpcResult, startRpcProxy } from '../support/rpc-proxy.ts'
import type { ProxyRules, RpcProxy } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain, usdcAbi, usdcAddress } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

allowSlowTests('starts anvil')

const payer = chainAccount('payer')
/** Price of the feed. */
const price = 2000n
const funds = 1_000_000n
let chain: UsdcChain
let proxy: RpcProxy
let paid: PaidService
let restore: () => Promise<void>
/** What stands between the service and the chain in the test that runs. */
let rules: ProxyRules = {}

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, funds)
  proxy = await startRpcProxy(chain.url, {
    instead: (request) => rules.instead?.(request),
    change: (request, answer) =>
      rules.change === undefined ? answer : rules.change(request, answer),
  })
})

beforeEach(async () => {
  rules = {}
  restore = await chain.snapshot()
  paid = await startPaidService({ chain, rpcUrl: `${proxy.url}/${nodeKey}`, level: 'debug' })
})

/** Everything that a payer or an operator was told in any of the tests. */
const told: string[] = []
/** Stands in the address of the node, as the keys of hosted ones do. */
const nodeKey = 'b5f0a1c2d3e4'
const secrets: string[] = [chainKey('settler').slice(2), nodeKey]

afterEach(async () => {
  rules = {}
  const health = await fetch(`${paid.url}/api/v1/health`)
  told.push(await health.text(), JSON.stringify(paid.lines()))
  await paid.stop()
  await restore()
})

afterAll(async () => {
  await proxy.stop()
  await chain.stop()
})

async function sign(): Promise<SignedAuthorization> {
  const signed = await signAuthorization(payer, { to: paid.receiver, value: price })
  secrets.push(signed.signature.slice(2), headerOf(paymentV2(signed)))
  return signed
}

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly headers: Headers
  readonly settlement: Readonly<Record<string, unknown>> | null
}

const anyObject = z.record(z.string(), z.unknown())

async function buy(signed: SignedAuthorization, path = '/api/v1/alerts/feed'): Promise<Answer> {
  const response = await fetch(`${paid.url}${path}`, {
    headers: { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) },
  })
  const { status, headers } = response
  const text = await response.text()
  told.push(`${text}\n${JSON.stringify([...headers])}`)
  const { code } = z.looseObject({ code: z.string().optional() }).parse(JSON.parse(text))
  const result = headers.get('payment-response')
  const settlement =
    result === null ? null : anyObject.parse(JSON.parse(Buffer.from(result, 'base64').toString()))
  return { status, code, headers, settlement }
}

async function row() {
  const [first] = await listPayments(paid.actions.database.reader, { afterSeq: 0, limit: 2 })
  return first
}

const charged = async () => funds - (await chain.balanceOf(payer.address))

/** The payer is told to come again with the same payment, and not to make another. */
function expectPending({ status, code, headers }: Answer): void {
  expect([status, code]).toEqual([503, 'settlement_pending'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(headers.get('payment-required')).toBeNull()
}

/** From now on the payment buys its answer once more, and then nothing, whoever brings it. */
async function expectDeliveredOnce(signed: SignedAuthorization): Promise<void> {
  expect((await buy(signed)).status).toBe(200)
  await expectUsed(signed)
}

async function expectUsed(signed: SignedAuthorization): Promise<void> {
  const again = await buy(signed)
  expect([again.status, again.code]).toEqual([402, 'authorization_already_used'])
  expect(await charged()).toBe(price)
  expect(await chain.usedAuthorizations()).toHaveLength(1)
}

async function expectNoneReverted(): Promise<void> {
  const sent = await chain.sentBy(paid.settler)
  expect(sent.filter(({ succeeded }) => !succeeded)).toEqual([])
}

describe('one payment', () => {
  it('that is used a hundred times at once is answered once and settled once', async () => {
    const signed = await sign()
    const answers = await Promise.all(Array.from({ length: 100 }, () => buy(signed)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, code } of answers.filter((answer) => answer.status !== 200)) {
      expect(['402 authorization_already_used', '503 settlement_pending']).toContain(
        `${status} ${code}`,
      )
    }
    await expectUsed(signed)
    expect(await chain.sentBy(paid.settler)).toHaveLength(1)
    await expectNoneReverted()
  })

  it('for one thing does not buy another', async () => {
    const signed = await sign()
    await chain.automine(false)
    expectPending(await buy(signed))
    await chain.mine()
    const other = await buy(signed, '/api/v1/alerts/feed?rail=x402')
    expect(other.status).toBe(402)
    await expectDeliveredOnce(signed)
  })

  it('that a stranger brought is kept where there is nothing to deliver', async () => {
    const signed = await signAuthorization(payer, { to: paid.receiver, value: 10_000n })
    await chain.call(settlementCall(signed))
    const answer = await buy(signed, '/api/v1/arbitrage')
    expect([answer.status, answer.code]).toEqual([503, 'unavailable'])
    expect(answer.headers.get('payment-required')).toBeNull()
    expect(await row()).toMatchObject({ state: 'settled', deliveredAt: null })
  })

  it('is not taken where there is nothing to deliver', async () => {
    const signed = await signAuthorization(payer, { to: paid.receiver, value: 10_000n })
    const answer = await buy(signed, '/api/v1/arbitrage')
    expect([answer.status, answer.code]).toEqual([503, 'unavailable'])
    expect(await charged()).toBe(0n)
    expect(await chain.sentBy(paid.settler)).toEqual([])
  })
})

describe('a settlement', () => {
  it('of which the answer was lost is found on the chain', async () => {
    const signed = await sign()
    rules = {
      change: ({ method }, answer) => (method === 'eth_sendRawTransaction' ? null : answer),
    }
    const answer = await buy(signed)
    if (answer.status === 200) {
      await expectUsed(signed)
    } else {
      expectPending(answer)
      await expectDeliveredOnce(signed)
    }
    await expectNoneReverted()
  })

  it('that no block takes is pending, with its transaction, until one does', async () => {
    await chain.automine(false)
    const signed = await sign()
    const first = await buy(signed)
    expectPending(first)
    expect(first.settlement).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
    })
    expect(first.settlement?.['transaction']).toMatch(/^0x[0-9a-f]{64}$/)
    const second = await buy(signed)
    expectPending(second)
    expect(second.settlement?.['transaction']).toBe(first.settlement?.['transaction'])
    expect(await charged()).toBe(0n)
    await chain.mine()
    await expectDeliveredOnce(signed)
    await expectNoneReverted()
  })

  it('is mined although blocks become dearer meanwhile, as far as the operator lets it', async () => {
    await chain.automine(false)
    const signed = await sign()
    expectPending(await buy(signed))
    const { baseFeePerGas } = await chain.client.getBlock()
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', [
      `0x${(10n * (baseFeePerGas ?? 0n)).toString(16)}`,
    ])
    await chain.mine()
    await expectDeliveredOnce(signed)
    await expectNoneReverted()
  })

  it('leaves no gap for those that come after one that was refused', async () => {
    const poor = chainAccount('a payer without funds')
    const terms = { to: paid.receiver, value: price }
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) =>
        buy(at % 2 === 0 ? await sign() : await signAuthorization(poor, terms)),
      ),
    )
    expect(answers.map(({ status, code }) => (status === 200 ? '200' : code))).toEqual(
      answers.map((_, at) => (at % 2 === 0 ? '200' : 'insufficient_funds')),
    )
    expect(await charged()).toBe(10n * price)
    await expectNoneReverted()
  })
})

describe('a stranger who settles first', () => {
  it('has paid the gas: the payer gets the answer once', async () => {
    const signed = await sign()
    await chain.call(settlementCall(signed))
    await expectDeliveredOnce(signed)
    expect(await chain.sentBy(paid.settler)).toEqual([])
  })

  it('has paid also for who comes weeks after, with nothing known here, and only the time it had is looked through', async () => {
    const signed = await sign()
    await chain.call(settlementCall(signed))
    const weeksMs = 14 * 24 * 3_600_000
    paid.clock.advance(weeksMs)
    rules = {
      change: ({ method }, answer) =>
        method === 'eth_getBlockByNumber' ? blockAfter(answer, weeksMs / 1000) : answer,
    }
    const asked = proxy.requests.length
    await expectDeliveredOnce(signed)
    const methods = proxy.requests.slice(asked).map(({ method }) => method)
    expect(methods.filter((method) => method === 'eth_getLogs')).toHaveLength(2)
    expect(await chain.sentBy(paid.settler)).toEqual([])
  })

  it('is waited for where one node says used and the other does not see by what', async () => {
    const signed = await sign()
    await chain.call(settlementCall(signed))
    paid.clock.advance(180_000)
    rules = {
      instead: (request) => (request.method === 'eth_getLogs' ? rpcResult(request, []) : undefined),
    }
    expectPending(await buy(signed))
    // Nobody lags for so long.
    paid.clock.advance(600_000)
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
    expect(await row()).toBeUndefined()
    paid.clock.advance(-600_000)
    rules = {}
    await expectDeliveredOnce(signed)
  })

  it('or nobody: who comes when the time is over is told so, and no row is left', async () => {
    const signed = await sign()
    paid.clock.advance(3_600_000)
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'payment_expired' })
    expect(await row()).toBeUndefined()
    expect(await charged()).toBe(0n)
  })

  it('is found where blocks are as full as those of Base', async () => {
    const hashes = JSON.stringify(Array.from({ length: 3000 }, () => someHash))
    const signed = await sign()
    await chain.call(settlementCall(signed))
    rules = {
      change: ({ method }, answer) =>
        method === 'eth_getBlockByNumber'
          ? answer.replace(/"transactions":\[[^\]]*\]/, `"transactions":${hashes}`)
          : answer,
    }
    await expectDeliveredOnce(signed)
  })

  it('between our look and our transaction changes nothing for the payer', async () => {
    const signed = await sign()
    let isFirst = true
    const frontRun = async () => {
      isFirst = false
      await chain.call(settlementCall(signed))
    }
    const race = await startRpcProxy(chain.url, {
      before: async ({ method }) => {
        if (isFirst && method === 'eth_sendRawTransaction') await frontRun()
      },
    })
    await paid.stop()
    paid = await startPaidService({ chain, rpcUrl: race.url, level: 'debug' })
    const answer = await buy(signed)
    if (answer.status === 200) {
      await expectUsed(signed)
    } else {
      expectPending(answer)
      await expectDeliveredOnce(signed)
    }
    await race.stop()
  })

  it('for a transfer to somebody else, under the same nonce, buys nothing', async () => {
    const signed = await sign()
    const { nonce } = signed.authorization
    const elsewhere = { to: chainAccount('somebody else').address, value: price, nonce }
    await chain.call(settlementCall(await signAuthorization(payer, elsewhere)))
    const answer = await buy(signed)
    expect([answer.status, answer.code]).toEqual([402, 'authorization_already_used'])
    expect(await chain.balanceOf(paid.receiver)).toBe(0n)
  })
})

/** The block that Base would have so much later. */
function blockAfter(answer: string, seconds: number): string {
  const later = (name: string, by: number, text: string): string =>
    text.replace(
      new RegExp(`"${name}":"(0x[0-9a-f]+)"`),
      (_, hex: string) => `"${name}":"0x${(Number(hex) + by).toString(16)}"`,
    )
  return later('number', seconds / 2, later('timestamp', seconds, answer))
}

describe('a chain that', () => {
  it('turns out to have the wrong id is sent nothing', async () => {
    await paid.stop()
    rules = { instead: () => ({ status: 500, body: 'not yet' }) }
    paid = await startPaidService({ chain, rpcUrl: proxy.url, level: 'debug' })
    const signed = await sign()
    rules = {
      instead: (request) =>
        request.method === 'eth_chainId' ? rpcResult(request, '0x1') : undefined,
    }
    const answer = await buy(signed)
    expect([answer.status, answer.code]).toEqual([503, 'payment_unavailable'])
    expect(answer.headers.get('payment-required')).toBeNull()
    expect(await charged()).toBe(0n)
    expect(await chain.sentBy(paid.settler)).toEqual([])
    rules = {}
    await expectDeliveredOnce(signed)
  })

  it('has the wrong id stops the start', async () => {
    rules = { instead: (request) => rpcResult(request, '0x1') }
    await expect(startPaidService({ chain, rpcUrl: proxy.url })).rejects.toThrow('RPC_URL_BASE')
  })

  it.each([
    ['answers 500', () => ({ status: 500, body: 'no' })],
    ['answers something else than JSON', () => ({ body: '<html>' })],
    ['has too many requests', () => ({ status: 429, body: '{}' })],
  ])('%s takes no payment, and no money', async (_, instead) => {
    const signed = await sign()
    rules = { instead }
    const answer = await buy(signed)
    expect([answer.status, answer.code]).toEqual([503, 'payment_unavailable'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await charged()).toBe(0n)
    rules = {}
    await expectDeliveredOnce(signed)
  })

  it('refuses the transaction has taken nothing', async () => {
    const signed = await sign()
    rules = {
      instead: (request) =>
        request.method === 'eth_sendRawTransaction'
          ? rpcError(request, -32000, 'transaction type not supported')
          : undefined,
    }
    const answer = await buy(signed)
    expect(answer.status).toBe(503)
    expect(await charged()).toBe(0n)
    rules = {}
    await expectDeliveredOnce(signed)
  })

  it('refuses the transaction and takes it nevertheless has been paid', async () => {
    const signed = await sign()
    rules = {
      instead: (request) =>
        request.method === 'eth_getTransactionByHash' ? rpcResult(request, null) : undefined,
      change: (request, answer) =>
        request.method === 'eth_sendRawTransaction'
          ? rpcError(request, -32000, 'upstream timed out').body
          : answer,
    }
    const answer = await buy(signed)
    expect([answer.status, answer.code]).toEqual([503, 'payment_unavailable'])
    expect(answer.headers.get('payment-required')).toBeNull()
    rules = {}
    // The payer may never come back: what was paid is known all the same.
    await createPaymentWatch(paid.actions).run()
    expect(await row()).toMatchObject({ state: 'settled', deliveredAt: null })
    await expectDeliveredOnce(signed)
  })

  it('shows a failure of what goes through later has been paid, also when it is late', async () => {
    const signed = await sign()
    await chain.automine(false)
    rules = {
      instead: (request) => {
        if (request.method !== 'eth_getTransactionReceipt') return undefined
        const receipt = receiptOf(signed, String(request.params[0]), paid.receiver)
        return rpcResult(request, { ...receipt, status: '0x0' })
      },
    }
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'payment_refused' })
    expect(await row()).toMatchObject({ state: 'failed' })
    rules = {}
    await chain.mine()
    paid.clock.advance(3_600_000)
    await expectDeliveredOnce(signed)
  })

  it('stalls after it took the transaction keeps the payer no longer than one that answers', async () => {
    await paid.stop()
    paid = await startPaidService({ chain, rpcUrl: proxy.url, level: 'debug', speed: 4 })
    const signed = await sign()
    await chain.automine(false)
    let looks = 0
    rules = {
      instead: ({ method }) => {
        if (method === 'eth_getTransactionReceipt') looks += 1
        return looks > 0 ? { body: '', silent: true } : undefined
      },
    }
    expectPending(await buy(signed))
    expect(looks).toBe(1)
    rules = {}
    await chain.mine()
    await expectDeliveredOnce(signed)
  })

  it('stalls takes no payment, and the payer is told before losing patience', async () => {
    await paid.stop()
    paid = await startPaidService({ chain, rpcUrl: proxy.url, level: 'debug', speed: 40 })
    const signed = await sign()
    rules = { instead: () => ({ body: '', silent: true }) }
    const answer = await buy(signed)
    expect([answer.status, answer.code]).toEqual([503, 'payment_unavailable'])
    expect(await charged()).toBe(0n)
  })

  it.each<readonly [string, (receipt: ForgedReceipt) => object]>([
    ['for another transaction', (receipt) => ({ ...receipt, transactionHash: someHash })],
    ['that failed', (receipt) => ({ ...receipt, status: '0x0' })],
    ['without logs', (receipt) => ({ ...receipt, logs: [] })],
    ['of another amount', withTransfer({ data: word('7d1') })],
    ['from another payer', withTransfer({ from: stranger })],
    ['to another receiver', withTransfer({ to: stranger })],
    [
      'of another token',
      (receipt) => ({
        ...receipt,
        logs: receipt.logs.map((log) => ({ ...log, address: stranger })),
      }),
    ],
    [
      'of another authorization',
      (receipt) => ({
        ...receipt,
        logs: receipt.logs.map((log) => ({
          ...log,
          topics: log.topics.map((topic, at) =>
            at === 2 && log.logIndex === '0x0' ? someHash : topic,
          ),
        })),
      }),
    ],
    ['of a transfer elsewhere in the block', withTransfer({ logIndex: '0x5' })],
  ])('shows a receipt %s, of what is not mined, is not believed', async (_, forge) => {
    const signed = await sign()
    await chain.automine(false)
    let forged = 0
    rules = {
      instead: (request) => {
        if (request.method !== 'eth_getTransactionReceipt') return undefined
        forged += 1
        const receipt = receiptOf(signed, String(request.params[0]), paid.receiver)
        return rpcResult(request, forge(receipt))
      },
    }
    const answer = await buy(signed)
    expect(forged).toBeGreaterThan(0)
    expect(answer.status).not.toBe(200)
    rules = {}
    await chain.mine()
    await expectDeliveredOnce(signed)
  })
})

it('believes a node that lies in everything: there is nobody else to ask', async () => {
  const signed = await sign()
  await chain.automine(false)
  rules = {
    instead: (request) =>
      request.method === 'eth_getTransactionReceipt'
        ? rpcResult(request, receiptOf(signed, String(request.params[0]), paid.receiver))
        : undefined,
  }
  expect((await buy(signed)).status).toBe(200)
})

const word = (hex: string) => `0x${hex.replace('0x', '').toLowerCase().padStart(64, '0')}`
const stranger = chainAccount('somebody else').address.toLowerCase()
const someHash = `0x${'12'.repeat(32)}`

interface ForgedReceipt {
  readonly transactionHash: string
  readonly logs: readonly ForgedLog[]
}

interface ForgedLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly logIndex: string
}

/** As the node would show it, were the payment mined. */
function receiptOf({ authorization }: SignedAuthorization, hash: string, payTo: string) {
  const [used, transfer] = ['AuthorizationUsed', 'Transfer'].map((name) =>
    encodeEventTopics({
      abi: usdcAbi,
      eventName: name === 'Transfer' ? name : 'AuthorizationUsed',
    }),
  )
  const place = { transactionHash: hash, blockNumber: '0x1', blockHash: someHash }
  const from = word(authorization.from)
  const logs = [
    { topics: [String(used), from, authorization.nonce], data: '0x', logIndex: '0x0' },
    { topics: [String(transfer), from, word(payTo)], data: word('7d0'), logIndex: '0x1' },
  ]
  return {
    ...place,
    status: '0x1',
    logs: logs.map((log) => ({ ...place, address: usdcAddress, ...log })),
  }
}

function withTransfer(changes: {
  readonly from?: string
  readonly to?: string
  readonly data?: string
  readonly logIndex?: string
}) {
  const { from, to, ...rest } = changes
  return (receipt: ForgedReceipt): object => ({
    ...receipt,
    logs: receipt.logs.map((log) => {
      if (log.logIndex === '0x0') return log
      const [topic = '', wasFrom = '', wasTo = ''] = log.topics
      const topics = [
        topic,
        from === undefined ? wasFrom : word(from),
        to === undefined ? wasTo : word(to),
      ]
      return { ...log, topics, ...rest }
    }),
  })
}

describe('a reorganisation', () => {
  it('before the payer has the answer leaves a payment that settles once', async () => {
    const signed = await sign()
    await chain.automine(false)
    expectPending(await buy(signed))
    await chain.mine()
    await chain.reorg(1)
    await chain.automine(true)
    await expectDeliveredOnce(signed)
  })

  it('of a delivered payment delivers nothing more, and the operator is told when it is for good', async () => {
    const signed = await sign()
    expect((await buy(signed)).status).toBe(200)
    await chain.reorg(1)
    expect(await charged()).toBe(0n)
    const again = await buy(signed)
    expect([again.status, again.code]).toEqual([402, 'authorization_already_used'])
    expect(await charged()).toBe(0n)
    const watch = createPaymentWatch(paid.actions)
    await watch.run()
    expect(watch.problems()).toEqual([])
    // A minute beyond the end of the authorization, and so many blocks that this is final.
    await chain.mine(400)
    await watch.run()
    expect(watch.problems()).toEqual([
      'settlement: a reorganisation undid 1 settled payment for good',
    ])
    expect((await buy(signed)).status).toBe(402)
  })

  it('that moves a payment to another block is followed', async () => {
    const signed = await sign()
    expect((await buy(signed)).status).toBe(200)
    await chain.reorg(1)
    await chain.call(settlementCall(signed))
    await chain.mine(400)
    const watch = createPaymentWatch(paid.actions)
    await watch.run()
    expect(watch.problems()).toEqual([])
    const [used] = await chain.usedAuthorizations()
    expect(await row()).toMatchObject({ finality: 'final', txHash: used?.transaction })
    await expectUsed(signed)
  })
})

it('tells nobody a key or a signature of a payer, in logs, errors or health', () => {
  const all = told.join('\n').toLowerCase()
  expect(all).toContain('settlement_pending')
  expect(secrets.length).toBeGreaterThan(10)
  expect(secrets.filter((secret) => all.includes(secret.toLowerCase()))).toEqual([])
})
