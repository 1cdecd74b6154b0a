/** Paid reads on a real chain, and the rows that they leave. */
import { once } from 'node:events'
import { request } from 'node:http'

import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { readArtifact, receiptKind } from '../../src/auth/offer-receipt.ts'
import { startPaidService } from '../support/paid-service.ts'
import { makePartner } from '../support/partners.ts'
import { decodedHeader, feed, payer, price, usePaymentTests } from '../support/payment-tests.ts'
import { countOf } from '../support/requests.ts'
import { evmWallet, partnerHeaders } from '../support/wallets.ts'
import {
  chainAccount,
  headerOf,
  paymentV1,
  paymentV2,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

const signedReceipt = z.strictObject({ format: z.literal('jws'), signature: z.string() })
const receiptIn = (extensions: unknown) =>
  z
    .strictObject({
      'offer-receipt': z.strictObject({ info: z.strictObject({ receipt: signedReceipt }) }),
    })
    .parse(extensions)['offer-receipt'].info.receipt

const { tests: t, get, buy, sign, charged, rows } = usePaymentTests()

describe('a payment', () => {
  it('a payment of either version in either header buys the response and reports its settlement', async () => {
    for (const [names, paymentOf] of [
      [['PAYMENT-SIGNATURE'], paymentV2],
      [['PAYMENT-SIGNATURE'], paymentV1],
      [['X-PAYMENT'], paymentV2],
      [['X-PAYMENT'], paymentV1],
      [['PAYMENT-SIGNATURE', 'X-PAYMENT'], paymentV2],
    ] as const) {
      const payment = headerOf(paymentOf(await sign()))
      const sent = Object.fromEntries(names.map((name) => [name, payment]))
      const { status, body, headers } = await get(feed, sent)
      expect(status).toBe(200)
      expect(body).toMatchObject({ count: 0, events: [] })
      expect(headers.get('cache-control')).toBe('private, no-store')
      const [used] = (await t.chain.usedAuthorizations()).slice(-1)
      const settled = {
        success: true,
        transaction: used?.transaction,
        payer: payer.address.toLowerCase(),
      }
      const network = 'eip155:8453'
      const { extensions, ...response } = decodedHeader(headers, 'payment-response')
      expect(response).toEqual({ ...settled, network })
      const { payload, signer } = await readArtifact(receiptKind, receiptIn(extensions))
      expect(signer).toMatch(/^did:web:ledger\.test#[0-9a-f]{16}$/)
      const { transaction } = settled
      expect(payload).toEqual({
        version: 1,
        network,
        resourceUrl: `https://ledger.test${feed}`,
        payer: settled.payer,
        issuedAt: expect.any(Number) as unknown,
        transaction,
      })
      expect(decodedHeader(headers, 'x-payment-response')).toEqual({ ...settled, network: 'base' })
    }
    expect(await charged()).toBe(5n * price)
    expect(await t.chain.balanceOf(t.paid.receiver)).toBe(5n * price)
  })

  it('a payment has a row with its times, transaction and block', async () => {
    const signed = await sign()
    await buy(signed)
    const [used] = await t.chain.usedAuthorizations()
    const receipt = await t.chain.client.getTransactionReceipt({ hash: used?.transaction ?? '0x' })
    expect(await rows()).toMatchObject([
      {
        payer: payer.address.toLowerCase(),
        nonce: signed.authorization.nonce,
        payTo: t.paid.receiver,
        amountMicroUsdc: 2000,
        purpose: 'read',
        resource: `https://ledger.test${feed}`,
        settler: 'local',
        state: 'settled',
        finality: 'latest',
        txHash: used?.transaction,
        blockNumber: Number(receipt.blockNumber),
        blockHash: receipt.blockHash,
      },
    ])
    const [row] = await rows()
    expect(row?.id).toMatch(/^pay_[0-9a-f]{24}$/)
    const times = [row?.reservedAt, row?.submittedAt, row?.settledAt, row?.deliveredAt]
    const timesMs = times.map((time) => Date.parse(time ?? ''))
    expect(timesMs).not.toContain(Number.NaN)
    expect(timesMs.toSorted((a, b) => a - b)).toEqual(timesMs)
  })

  it('a payment that was used before is refused without a call to the chain', async () => {
    const signed = await sign()
    expect((await buy(signed)).status).toBe(200)
    const calls = t.proxy.requests.length
    // The same authorization in another spelling.
    const upperCase = {
      ...signed,
      authorization: {
        ...signed.authorization,
        nonce: `0x${signed.authorization.nonce.slice(2).toUpperCase()}`,
      },
    } as const
    for (const again of [signed, upperCase]) {
      const { status, code, headers } = await buy(again)
      expect([status, code]).toEqual([402, 'authorization_already_used'])
      expect(decodedHeader(headers, 'payment-required')).toMatchObject({ x402Version: 2 })
    }
    expect(t.proxy.requests).toHaveLength(calls)
    expect(await charged()).toBe(price)
  })

  it('a payment is settled with four calls to the chain', async () => {
    const before = t.proxy.requests.length
    expect((await buy(await sign())).status).toBe(200)
    const methods = t.proxy.requests.slice(before).map(({ method }) => method)
    expect(methods.filter((method) => method !== 'eth_getTransactionReceipt')).toEqual([
      'eth_estimateGas',
      'eth_feeHistory',
      'eth_getTransactionCount',
      'eth_sendRawTransaction',
    ])
  })

  it('a payment is settled only for a caller whose tier does not include the read', async () => {
    const wallet = evmWallet('a partner')
    const path = '/api/v1/reputation/0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    for (const isPartner of [false, true]) {
      if (isPartner) await makePartner(t.paid, wallet, { handle: 'a-partner' })
      const signed = await partnerHeaders(
        wallet,
        { method: 'GET', path },
        { nowMs: t.paid.clock.now() },
      )
      const payment = headerOf(paymentV2(await sign({ value: 5000n })))
      const { status, headers } = await get(path, { ...signed, 'PAYMENT-SIGNATURE': payment })
      expect(status).toBe(200)
      // The free tier includes this read, so the payment is not used.
      expect(headers.get('payment-response') === null).toBe(isPartner)
    }
    expect(await charged()).toBe(5000n)
  })
})

describe('a payment that buys nothing', () => {
  const nowSeconds = () => BigInt(Math.floor(Date.now() / 1000))
  const somebody = chainAccount('somebody').address

  it.each<readonly [string, string, number, () => Promise<SignedAuthorization>]>([
    ['of less', 'payment_mismatch', 0, () => sign({ value: price - 1n })],
    ['of more', 'payment_mismatch', 0, () => sign({ value: price + 1n })],
    ['to another receiver', 'payment_mismatch', 0, () => sign({ to: somebody })],
    // One call, since a stranger may have settled it in time.
    ['that has expired', 'payment_expired', 1, () => sign({ validBefore: nowSeconds() - 1n })],
    [
      'that is about to expire',
      'payment_expired',
      1,
      () => sign({ validBefore: nowSeconds() + 5n }),
    ],
    ['valid for hours', 'payment_expired', 0, () => sign({ validBefore: nowSeconds() + 7200n })],
    ['valid only later', 'payment_expired', 0, () => sign({ validAfter: nowSeconds() + 60n })],
  ])('a payment %s gets 402 %s and terms after %i chain calls', async (_, code, calls, make) => {
    const signed = await make()
    const payment = paymentV2(signed, await t.paid.terms(feed, 2))
    const before = t.proxy.requests.length
    const answer = await get(feed, { 'PAYMENT-SIGNATURE': headerOf(payment) })
    expect([answer.status, answer.code]).toEqual([402, code])
    expect(answer.body['details']).toEqual(expect.any(String))
    expect(decodedHeader(answer.headers, 'payment-required')).toMatchObject({ error: code })
    expect(decodedHeader(answer.headers, 'payment-response')).toMatchObject({
      success: false,
      errorReason: code,
      transaction: '',
    })
    expect(t.proxy.requests).toHaveLength(before + calls)
    expect(await rows()).toEqual([])
  })

  it('a payment under other terms gets the difference', async () => {
    const accepted = { ...(await t.paid.terms(feed, 2)), network: 'eip155:1' }
    const { code, body } = await get(feed, {
      'PAYMENT-SIGNATURE': headerOf(paymentV2(await sign(), accepted)),
    })
    expect(code).toBe('payment_mismatch')
    expect(body['details']).toBe('network is eip155:1 but must be eip155:8453')
  })

  it('a payment for a read that cannot be produced is refused and not charged', async () => {
    const answer = await buy(await sign({ value: 1000n }), '/api/v1/og')
    expect([answer.status, answer.code]).toEqual([503, 'unavailable'])
    expect([await charged(), await rows()]).toEqual([0n, []])
  })

  it('a payment that the token refuses charges nobody and leaves no row', async () => {
    const poor = chainAccount('without funds')
    const terms = { to: t.paid.receiver, value: price }
    const byPoor = await signAuthorization(poor, terms)
    const wrongDomain = await signAuthorization(payer, terms, { name: 'USDC' })
    for (const [signed, code] of [
      [byPoor, 'insufficient_funds'],
      [wrongDomain, 'payment_signature_invalid'],
    ] as const) {
      const answer = await buy(signed)
      expect([answer.status, answer.code]).toEqual([402, code])
    }
    expect(await rows()).toEqual([])
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
    // With enough funds the same payment is accepted.
    await t.chain.mint(poor.address, price)
    expect((await buy(byPoor)).status).toBe(200)
  })

  it('payments of an empty wallet cause at most 240 simulations, and successful payments cost no units', async () => {
    await t.paid.stop()
    const { chain, proxy } = t
    t.paid = await startPaidService({ chain, rpcUrl: proxy.url, limits: 'on' })
    const signer = evmWallet('a free wallet')
    const call = { method: 'GET', path: feed }
    const free = await partnerHeaders(signer, call, { nowMs: t.paid.clock.now() })
    for (let at = 0; at < 3; at += 1) expect((await buy(await sign(), feed, free)).status).toBe(200)
    const terms = { to: t.paid.receiver, value: price }
    const byPoor = await signAuthorization(chainAccount('without funds'), terms)
    const before = proxy.requests.length
    const statuses: number[] = []
    for (let at = 0; at < 260; at += 1) statuses.push((await buy(byPoor, feed, free)).status)
    expect(countOf(statuses)).toEqual({ 402: 240, 429: 20 })
    const methods = proxy.requests.slice(before).map(({ method }) => method)
    expect(countOf(methods)).toEqual({ eth_estimateGas: 240 })
  })

  it('a payment refused since gas is too expensive may be sent again', async () => {
    const { baseFeePerGas } = await t.chain.client.getBlock()
    await t.chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x3b9aca00'])
    await t.chain.mine()
    const signed = await sign()
    const { status, code, headers } = await buy(signed)
    expect([status, code]).toEqual([503, 'payment_unavailable'])
    expect(headers.get('payment-required')).toBeNull()
    expect(await rows()).toEqual([])
    expect(await charged()).toBe(0n)
    await t.chain.rpc('anvil_setNextBlockBaseFeePerGas', [
      `0x${(baseFeePerGas ?? 0n).toString(16)}`,
    ])
    await t.chain.mine()
  })
})

describe('a contract wallet', () => {
  const wallet = '0x00000000000000000000000000000000000c0de1'
  /** Code that answers every call with the magic value of EIP-1271, after so many rounds of 26 gas. */
  const yesAfter = (rounds: number) =>
    `0x61${rounds.toString(16).padStart(4, '0')}5b6001900380600357631626ba7e60e01b60005260206000f3`
  const loop = '0x5b600056'
  const pay = async () => ({
    ...(await sign({ from: wallet })),
    signature: '0x1234567890' as const,
  })

  it('a contract wallet that needs more than 300,000 gas is refused without cost, and pays once below', async () => {
    await t.chain.mint(wallet, price)
    await t.chain.rpc('anvil_setCode', [wallet, yesAfter(9000)])
    const signed = await pay()
    expect((await buy(signed)).status).toBe(402)
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
    expect(await rows()).toEqual([])
    await t.chain.rpc('anvil_setCode', [wallet, yesAfter(4000)])
    expect((await buy(signed)).status).toBe(200)
    expect(await t.chain.balanceOf(wallet)).toBe(0n)
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
  })

  it('a contract wallet that burns all gas or does not exist is refused without cost', async () => {
    for (const code of ['0x', loop]) {
      await t.chain.rpc('anvil_setCode', [wallet, code])
      expect(await buy(await pay())).toMatchObject({
        status: 402,
        code: 'payment_signature_invalid',
      })
    }
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
  })
})

describe('a payer who hangs up', () => {
  it('a payer who hangs up before the transaction is sent is not charged', async () => {
    const gone = hangUp('eth_estimateGas')
    const signed = await sign()
    await askAndLeave(signed, gone)
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
    expect(await rows()).toEqual([])
  })

  it('a payer who hangs up after the transaction was sent gets the response at the next try, once', async () => {
    const gone = hangUp('eth_sendRawTransaction')
    const signed = await sign()
    await askAndLeave(signed, gone)
    expect(await rows()).toMatchObject([{ state: 'settled', deliveredAt: null }])
    const asked = t.proxy.requests.length
    expect((await buy(signed)).status).toBe(200)
    expect(t.proxy.requests).toHaveLength(asked)
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
    expect(await charged()).toBe(price)
  })

  /** Ends the payer's connection at the first call of `at`, which continues once the service has noticed. */
  function hangUp(at: string): AbortController {
    const gone = new AbortController()
    t.rules = {
      before: async ({ method }) => {
        if (method !== at || gone.signal.aborted) return
        gone.abort()
        const isLogged = () => t.paid.lines().some((line) => JSON.stringify(line).includes(feed))
        while (!isLogged()) await t.paid.clock.sleep(5)
      },
    }
    return gone
  }

  async function askAndLeave(signed: SignedAuthorization, gone: AbortController): Promise<void> {
    const asking = request(`${t.paid.url}${feed}`, {
      headers: { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) },
      signal: gone.signal,
    }).end()
    await once(asking, 'error')
    const { payments } = t.paid.actions
    if (payments.mode === 'off') throw new Error('payments are off')
    while (payments.inFlight.size > 0) await t.paid.clock.sleep(5)
  }
})
