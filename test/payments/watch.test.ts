/** Payments that no request waits for: left by a stop, or in a block that is not final yet. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { findPayment, reservePayment } from '../../src/db/payments.ts'
import type { NewPayment } from '../../src/db/payments.ts'
import { endedHolder } from '../support/ended-holder.ts'
import { startPaidService } from '../support/paid-service.ts'
import { buyFrom, feed, payer, price, usePaymentTests } from '../support/payment-tests.ts'
import type { PaymentTests } from '../support/payment-tests.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import type { ProxyRules } from '../support/rpc-proxy.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

/** Deeper than any block that anvil may still replace. */
const finalDepth = 80
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-watch-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const start = ({ chain, proxy }: PaymentTests) =>
  startPaidService({ chain, rpcUrl: proxy.url, databasePath: join(folder, 'ledger.db') })
const { tests: t, buy, sign, charged, rows } = usePaymentTests(start)

/** Restarts the service. */
async function restart(): Promise<void> {
  await t.paid.stop()
  t.paid = await start(t)
}

const watched = () => createPaymentWatch(t.paid.actions)

async function later(seconds: number): Promise<void> {
  await t.chain.rpc('evm_increaseTime', [seconds])
  await t.chain.mine()
}

describe('a payment left in flight by a stop', () => {
  it('a payment mined while the service was stopped is settled at the start and delivered', async () => {
    await t.chain.automine(false)
    const signed = await sign()
    expect(await buy(signed)).toMatchObject({ status: 503, code: 'settlement_pending' })
    await restart()
    await t.chain.mine()
    await watched().run()
    expect(await rows()).toMatchObject([{ state: 'settled', deliveredAt: null }])
    expect((await buy(signed)).status).toBe(200)
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
    expect(await charged()).toBe(price)
  })

  it('a payment that never reached a node is sent again when its payer returns', async () => {
    const signed = await sign()
    t.rules = lostOnTheWay
    await t.chain.automine(false)
    expect(await buy(signed)).toMatchObject({ status: 503, code: 'settlement_pending' })
    await restart()
    await watched().run()
    expect(await rows()).toMatchObject([{ state: 'submitted' }])
    expect(await buy(signed)).toMatchObject({ status: 503, code: 'settlement_pending' })
    t.rules = {}
    await t.chain.automine(true)
    expect((await buy(signed)).status).toBe(200)
    expect(await charged()).toBe(price)
    expect(await t.chain.sentBy(t.paid.settler)).toHaveLength(1)
  })

  it('a payment that never reached a node fails once it has expired, and nobody is charged', async () => {
    const signed = await sign()
    t.rules = lostOnTheWay
    await t.chain.automine(false)
    await buy(signed)
    t.rules = {}
    await later(300)
    await watched().run()
    expect(await rows()).toMatchObject([{ state: 'failed', reason: 'dead' }])
    expect(await charged()).toBe(0n)
  })

  it('a payment mined while the service sleeps between two checks does not count as expired', async () => {
    await t.chain.automine(false)
    const signed = await sign()
    expect(await buy(signed)).toMatchObject({ status: 503, code: 'settlement_pending' })
    let isAsleep = true
    const slow = await startRpcProxy(t.chain.url, {
      before: async ({ method }) => {
        if (!isAsleep || method !== 'eth_getBlockByNumber') return
        isAsleep = false
        await t.chain.mine()
        await later(600)
      },
    })
    await t.paid.stop()
    t.paid = await startPaidService({
      chain: t.chain,
      rpcUrl: slow.url,
      databasePath: join(folder, 'ledger.db'),
    })
    await watched().run()
    await slow.stop()
    expect(isAsleep).toBe(false)
    expect(await rows()).toMatchObject([{ state: 'settled' }])
    expect(await charged()).toBe(price)
  })

  it('a payment that cannot be checked becomes a problem once it has expired, until it is found', async () => {
    const signed = await sign()
    await t.chain.automine(false)
    await buy(signed)
    await t.chain.mine()
    const watch = watched()
    const outOfReach = 'settlement: the chain is unavailable'
    t.rules = { instead: () => ({ status: 502, body: '' }) }
    await watch.run()
    expect(watch.problems()).toEqual([outOfReach])
    t.paid.clock.advance(3_600_000)
    await watch.run()
    expect(watch.problems()).toEqual([
      outOfReach,
      'settlement: 1 payment expired without a known result',
    ])
    t.rules = {}
    await watch.run()
    expect(watch.problems()).toEqual([])
    expect(await rows()).toMatchObject([{ state: 'settled', deliveredAt: null }])
  })

  const lostOnTheWay: ProxyRules = {
    instead: ({ method }) =>
      method === 'eth_sendRawTransaction' ? { status: 502, body: '' } : undefined,
  }
})

describe('a reservation left by a stop', () => {
  const reservation = (signed: SignedAuthorization, validBefore: bigint): NewPayment => ({
    id: 'pay_left',
    chainId: 8453,
    asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    payer: payer.address.toLowerCase(),
    nonce: signed.authorization.nonce,
    payTo: t.paid.receiver,
    amountMicroUsdc: Number(price),
    validAfter: 0,
    validBefore: Number(validBefore),
    signatureSha256: '00'.repeat(32),
    purpose: 'read',
    resource: `https://ledger.test${feed}`,
    detail: null,
    settler: 'local',
    holder: endedHolder(),
    reservedAt: '2026-11-21T06:00:00.000Z',
  })
  const leave = (payment: NewPayment) =>
    t.paid.actions.database.write((tx) => reservePayment(tx, payment))

  it('a reservation left by a stop does not block the same payment', async () => {
    const signed = await sign()
    expect(await leave(reservation(signed, signed.authorization.validBefore))).toBe(true)
    expect((await buy(signed)).status).toBe(200)
  })

  it('a reservation left by a stop is deleted once it has expired, and not before', async () => {
    const signed = await sign()
    const payment = reservation(signed, signed.authorization.validBefore)
    await leave(payment)
    await watched().run()
    expect(await findPayment(t.paid.actions.database.reader, payment)).not.toBeNull()
    t.paid.clock.advance(3_600_000)
    await watched().run()
    expect(await findPayment(t.paid.actions.database.reader, payment)).toBeNull()
  })
})

it('two services on one database deliver one payment once', async () => {
  const other = await start(t)
  const signed = await sign()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => buyFrom(at % 2 === 0 ? t.paid : other, signed)),
  )
  answers.push(await buyFrom(t.paid, signed), await buyFrom(other, signed))
  await other.stop()
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.slice(-2)).toContainEqual(
    expect.objectContaining({ status: 402, code: 'authorization_already_used' }),
  )
  expect(await charged()).toBe(price)
  expect(await t.chain.usedAuthorizations()).toHaveLength(1)
})

it('a settled payment is final when its block is, and is then not checked again', async () => {
  await buy(await sign())
  await watched().run()
  expect(await rows()).toMatchObject([{ finality: 'latest', finalAt: null }])
  await t.chain.mine(finalDepth)
  await watched().run()
  const [row] = await rows()
  expect(row?.finality).toBe('final')
  expect(row?.finalAt).not.toBeNull()
  const asked = t.proxy.requests.length
  const watch = watched()
  await watch.run()
  const methods = t.proxy.requests.slice(asked).map(({ method }) => method)
  expect(methods).toEqual(['eth_getBalance'])
  expect(watch.problems()).toEqual([])
})

it('the payment watch reports a settling wallet that runs out of ETH, with its address', async () => {
  await t.chain.fund(t.paid.settler, 10n ** 12n)
  const watch = watched()
  await watch.run()
  expect(watch.problems()).toEqual([
    `settlement: the settlement wallet ${t.paid.settler} is low on ETH on Base`,
  ])
})
