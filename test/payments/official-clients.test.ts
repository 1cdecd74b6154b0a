/** The clients of the x402 project, as they are published, against the service and a chain. */
import { wrapAxiosWithPayment, x402Client as x402AxiosClient } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { ExactEvmSchemeV1 } from '@x402/evm/v1'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import axios from 'axios'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { alertFeed } from '../../src/contract/schemas/alert.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import {
  chainAccount,
  headerOf,
  paymentV1,
  paymentV2,
  signAuthorization,
} from '../support/x402-payment.ts'

allowSlowTests('starts anvil')

const payer = chainAccount('payer')
/** Price of the feed. */
const price = 2000n
let chain: UsdcChain
let paid: PaidService
let feedUrl: string

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, 1_000_000n)
  paid = await startPaidService({ chain })
  feedUrl = `${paid.url}/api/v1/alerts/feed`
})

afterAll(async () => {
  await paid.stop()
  await chain.stop()
})

/** The settlement as the result header of each version tells it, in its own name of the network. */
const networkIn = { 'payment-response': 'eip155:8453', 'x-payment-response': 'base' } as const

/** Runs the purchase and checks its traces: one transfer of the price, by one transaction that the answer names. */
async function expectPaidOnce(
  purchase: () => Promise<{
    readonly status: number
    readonly body: unknown
    readonly header: (name: string) => string | null
  }>,
): Promise<void> {
  const [hadBefore, usedBefore] = [
    await chain.balanceOf(payer.address),
    await chain.usedAuthorizations(),
  ]
  const { status, body, header } = await purchase()
  expect(status).toBe(200)
  expect(() => alertFeed.parse(body)).not.toThrow()
  expect(header('cache-control')).toBe('private, no-store')
  const used = (await chain.usedAuthorizations()).slice(usedBefore.length)
  expect(used).toHaveLength(1)
  for (const [name, network] of entriesOf(networkIn)) {
    const told = decodePaymentResponseHeader(header(name) ?? '')
    expect(told).toMatchObject({ success: true, transaction: used[0]?.transaction, network })
    expect(told.payer?.toLowerCase()).toBe(payer.address.toLowerCase())
  }
  expect(await chain.balanceOf(payer.address)).toBe(hadBefore - price)
}

const byFetch = async (pay: typeof fetch) => {
  const response = await pay(feedUrl)
  return {
    status: response.status,
    body: await response.json(),
    header: (name: string) => response.headers.get(name),
  }
}

/** A server that speaks version 1 alone says nothing in headers. */
const onlyV1: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const headers = new Headers(response.headers)
  headers.delete('payment-required')
  return new Response(response.body, { status: response.status, headers })
}

describe('a client pays and gets the response', () => {
  it('with @x402/fetch in version 2', async () => {
    const client = registerExactEvmScheme(new x402Client(), { signer: payer })
    await expectPaidOnce(() => byFetch(wrapFetchWithPayment(fetch, client)))
  })

  it('with @x402/fetch in version 1', async () => {
    const client = registerExactEvmScheme(new x402Client(), { signer: payer })
    await expectPaidOnce(() => byFetch(wrapFetchWithPayment(onlyV1, client)))
  })

  it('with @x402/axios in version 2', async () => {
    const client = new x402AxiosClient().register('eip155:*', new ExactEvmScheme(payer))
    const api = wrapAxiosWithPayment(axios.create(), client)
    await expectPaidOnce(() => byAxios(api))
  })

  it('with @x402/axios in version 1', async () => {
    const client = new x402AxiosClient().registerV1('base', new ExactEvmSchemeV1(payer))
    const instance = axios.create()
    instance.interceptors.response.use(undefined, (error: unknown) => {
      if (axios.isAxiosError(error)) delete error.response?.headers['payment-required']
      throw error
    })
    await expectPaidOnce(() => byAxios(wrapAxiosWithPayment(instance, client)))
  })
})

async function byAxios(api: ReturnType<typeof wrapAxiosWithPayment>) {
  const response = await api.get<unknown>(feedUrl)
  const header = (name: string) => {
    const value: unknown = response.headers[name]
    return typeof value === 'string' ? value : null
  }
  return { status: response.status, body: response.data, header }
}

describe('a payment of either version is accepted in either header', () => {
  const signed = () => signAuthorization(payer, { to: paid.receiver, value: price })
  const withHeaders = async (headers: Record<string, string>) =>
    byFetch(async (input) => await fetch(input, { headers }))

  it('version 1 in X-PAYMENT', async () => {
    const payment = headerOf(paymentV1(await signed()))
    await expectPaidOnce(() => withHeaders({ 'X-PAYMENT': payment }))
  })

  it('version 2 in X-PAYMENT', async () => {
    const payment = headerOf(paymentV2(await signed()))
    await expectPaidOnce(() => withHeaders({ 'X-PAYMENT': payment }))
  })

  it('version 1 in PAYMENT-SIGNATURE', async () => {
    const payment = headerOf(paymentV1(await signed()))
    await expectPaidOnce(() => withHeaders({ 'PAYMENT-SIGNATURE': payment }))
  })

  it('version 2 in PAYMENT-SIGNATURE', async () => {
    const payment = headerOf(paymentV2(await signed()))
    await expectPaidOnce(() => withHeaders({ 'PAYMENT-SIGNATURE': payment }))
  })

  it('the same payment in both', async () => {
    const payment = headerOf(paymentV2(await signed()))
    await expectPaidOnce(() => withHeaders({ 'PAYMENT-SIGNATURE': payment, 'X-PAYMENT': payment }))
  })
})
