/** Payments that no request waits for: left by a stop, or in a block that is not final yet. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { listPayments } from '../../src/db/payments/lists.ts'
import { findPayment, reservePayment } from '../../src/db/payments/payments.ts'
import type { NewPayment } from '../../src/db/payments/record.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import type { ProxyRules, RpcProxy } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import {
  chainAccount,
  headerOf,
  paymentV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

allowSlowTests('starts anvil')

const payer = chainAccount('payer')
const feed = '/api/v1/alerts/feed'
const price = 2000n
const funds = 1_000_000n
/** Further than any block that anvil takes for one that may still be replaced. */
const finalDepth = 80
let chain: UsdcChain
let proxy: RpcProxy
let paid: PaidService
let folder: string
let restore: () => Promise<void>
let rules: ProxyRules = {}

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, funds)
  await chain.mine(finalDepth)
  proxy = await startRpcProxy(chain.url, { instead: (asked) => rules.instead?.(asked) })
})

beforeEach(async () => {
  rules = {}
  restore = await chain.snapshot()
  folder = await mkdtemp(join(tmpdir(), 'ledger-watch-'))
  paid = await start()
})

afterEach(async () => {
  await paid.stop()
  await rm(folder, { recursive: true, force: true })
  await restore()
})

afterAll(async () => {
  await proxy.stop()
  await chain.stop()
})

const start = () =>
  startPaidService({ chain, rpcUrl: proxy.url, databasePath: join(folder, 'ledger.db') })

/** What a stop and the next start of the service leave. */
async function restart(): Promise<void> {
  await paid.stop()
  paid = await start()
}

const sign = () => signAuthorization(payer, { to: paid.receiver, value: price })
const watched = () => createPaymentWatch(paid.actions)
const charged = async () => funds - (await chain.balanceOf(payer.address))
const rows = () => listPayments(paid.actions.database.reader, { afterSeq: 0, limit: 100 })

async function buy(signed: SignedAuthorization, { url } = paid) {
  const response = await fetch(`${url}${feed}`, {
    headers: { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) },
  })
  const { code } = z.looseObject({ code: z.string().optional() }).parse(await response.json())
  return { status: response.status, code }
}

async function later(seconds: number): Promise<void> {
  await chain.rpc('evm_increaseTime', [seconds])
  await chain.mine()
}

describe('a payment that a stop left under way', () => {
  it('and that was mined meanwhile is settled at the start, and delivered to who comes for it', async () => {
    await chain.automine(false)
    const signed = await sign()
    expect(await buy(signed)).toEqual({ status: 503, code: 'settlement_pending' })
    await restart()
    await chain.mine()
    await watched().run()
    expect(await rows()).toMatchObject([{ state: 'settled', deliveredAt: null }])
    expect((await buy(signed)).status).toBe(200)
    expect(await buy(signed)).toEqual({ status: 402, code: 'authorization_already_used' })
    expect(await charged()).toBe(price)
  })

  it('and never reached a node is sent anew for who comes for it', async () => {
    const signed = await sign()
    rules = lostOnTheWay
    await chain.automine(false)
    expect(await buy(signed)).toEqual({ status: 503, code: 'settlement_pending' })
    await restart()
    await watched().run()
    expect(await rows()).toMatchObject([{ state: 'submitted' }])
    expect(await buy(signed)).toEqual({ status: 503, code: 'settlement_pending' })
    rules = {}
    await chain.automine(true)
    expect((await buy(signed)).status).toBe(200)
    expect(await charged()).toBe(price)
    expect(await chain.sentBy(paid.settler)).toHaveLength(1)
  })

  it('and never reached a node is given up when it has run out, and nobody was charged', async () => {
    const signed = await sign()
    rules = lostOnTheWay
    await chain.automine(false)
    await buy(signed)
    rules = {}
    await later(300)
    await watched().run()
    expect(await rows()).toMatchObject([{ state: 'failed', reason: 'dead' }])
    expect(await charged()).toBe(0n)
  })

  it('and is mined while the service sleeps between two looks is not taken for one that ran out', async () => {
    await chain.automine(false)
    const signed = await sign()
    expect(await buy(signed)).toEqual({ status: 503, code: 'settlement_pending' })
    let isAsleep = true
    const slow = await startRpcProxy(chain.url, {
      before: async ({ method }) => {
        if (!isAsleep || method !== 'eth_getBlockByNumber') return
        isAsleep = false
        await chain.mine()
        await later(600)
      },
    })
    await paid.stop()
    const databasePath = join(folder, 'ledger.db')
    paid = await startPaidService({ chain, rpcUrl: slow.url, databasePath })
    await watched().run()
    await slow.stop()
    expect(isAsleep).toBe(false)
    expect(await rows()).toMatchObject([{ state: 'settled' }])
    expect(await charged()).toBe(price)
  })

  it('and that cannot be looked for is shown when its time is over, and no longer when it was found', async () => {
    const signed = await sign()
    await chain.automine(false)
    await buy(signed)
    await chain.mine()
    const watch = watched()
    const outOfReach = 'settlement: the chain is out of reach'
    rules = { instead: () => ({ status: 502, body: '' }) }
    await watch.run()
    expect(watch.problems()).toEqual([outOfReach])
    paid.clock.advance(3_600_000)
    await watch.run()
    expect(watch.problems()).toEqual([
      outOfReach,
      'settlement: 1 payment ran out, and whether money moved is not known',
    ])
    rules = {}
    await watch.run()
    expect(watch.problems()).toEqual([])
    expect(await rows()).toMatchObject([{ state: 'settled', deliveredAt: null }])
  })

  const lostOnTheWay: ProxyRules = {
    instead: ({ method }) =>
      method === 'eth_sendRawTransaction' ? { status: 502, body: '' } : undefined,
  }
})

describe('a reservation that a stop left', () => {
  const reservation = (signed: SignedAuthorization, validBefore: bigint): NewPayment => ({
    id: 'pay_left',
    chainId: 8453,
    asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    payer: payer.address.toLowerCase(),
    nonce: signed.authorization.nonce,
    payTo: paid.receiver,
    amountMicroUsdc: Number(price),
    validAfter: 0,
    validBefore: Number(validBefore),
    signatureSha256: '00'.repeat(32),
    purpose: 'read',
    resource: `https://ledger.test${feed}`,
    detail: null,
    settler: 'local',
    reservedAt: '2026-11-21T06:00:00.000Z',
  })
  const leave = (payment: NewPayment) =>
    paid.actions.database.write((tx) => reservePayment(tx, payment))

  it('does not stand in the way of the same payment', async () => {
    const signed = await sign()
    expect(await leave(reservation(signed, signed.authorization.validBefore))).toBe(true)
    expect((await buy(signed)).status).toBe(200)
  })

  it('is forgotten when it has run out, and only then', async () => {
    const signed = await sign()
    const payment = reservation(signed, signed.authorization.validBefore)
    await leave(payment)
    await watched().run()
    expect(await findPayment(paid.actions.database.reader, payment)).not.toBeNull()
    paid.clock.advance(3_600_000)
    await watched().run()
    expect(await findPayment(paid.actions.database.reader, payment)).toBeNull()
  })
})

it('two services on one database answer one payment once', async () => {
  const other = await start()
  const signed = await sign()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => buy(signed, at % 2 === 0 ? paid : other)),
  )
  answers.push(await buy(signed, paid), await buy(signed, other))
  await other.stop()
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.slice(-2)).toContainEqual({ status: 402, code: 'authorization_already_used' })
  expect(await charged()).toBe(price)
  expect(await chain.usedAuthorizations()).toHaveLength(1)
})

describe('a settled payment', () => {
  it('is final when its block is, and is then asked about no more', async () => {
    await buy(await sign())
    await watched().run()
    expect(await rows()).toMatchObject([{ finality: 'latest', finalAt: null }])
    await chain.mine(finalDepth)
    await watched().run()
    const [row] = await rows()
    expect(row?.finality).toBe('final')
    expect(row?.finalAt).not.toBeNull()
    const asked = proxy.requests.length
    const watch = watched()
    await watch.run()
    const methods = proxy.requests.slice(asked).map(({ method }) => method)
    expect(methods).toEqual(['eth_getBalance'])
    expect(watch.problems()).toEqual([])
  })

  it('that a reorganisation undid for good is shown', async () => {
    const signed = await sign()
    expect((await buy(signed)).status).toBe(200)
    await chain.reorg(1)
    expect(await charged()).toBe(0n)
    await later(300)
    await chain.mine(finalDepth)
    const watch = watched()
    await watch.run()
    expect(await rows()).toMatchObject([
      { state: 'settled', finality: 'undone', reason: 'a reorganisation took the transfer back' },
    ])
    expect(watch.problems()).toEqual([
      'settlement: a reorganisation undid 1 settled payment for good',
    ])
    expect(paid.lines()).toContainEqual(expect.objectContaining({ message: 'payment undone' }))
    expect(await buy(signed)).toMatchObject({ status: 402 })
  })

  it('that a reorganisation moved to another block is final there', async () => {
    const signed = await sign()
    await buy(signed)
    const [before] = await rows()
    await chain.reorg(1)
    // A stranger's transaction, of another hash, brings the same transfer.
    await chain.call(settlementCall(signed))
    await chain.mine(finalDepth)
    await watched().run()
    const [after] = await rows()
    expect(after?.finality).toBe('final')
    expect(after?.txHash).not.toBe(before?.txHash)
    expect(await charged()).toBe(price)
  })
})

describe('the watch', () => {
  it('says that the settling wallet runs out of ETH, and by which address', async () => {
    await chain.fund(paid.settler, 10n ** 12n)
    const watch = watched()
    await watch.run()
    expect(watch.problems()).toEqual([
      `settlement: the settling wallet ${paid.settler} has little ETH left on Base`,
    ])
  })

  it('says that the chain is out of reach, and goes on when it is back', async () => {
    rules = { instead: () => ({ status: 502, body: '' }) }
    const watch = watched()
    await watch.run()
    expect(watch.problems()).toEqual(['settlement: the chain is out of reach'])
    rules = {}
    await watch.run()
    expect(watch.problems()).toEqual([])
  })
})
