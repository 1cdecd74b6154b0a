import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { z } from 'zod'

import { messages } from '../../src/auth/messages.ts'
import { listPayments } from '../../src/db/payments.ts'
import { filledByHook } from './filled-by-hook.ts'
import { startPaidService } from './paid-service.ts'
import type { PaidOptions, PaidService } from './paid-service.ts'
import { startRpcProxy } from './rpc-proxy.ts'
import type { ProxyRules, RpcProxy } from './rpc-proxy.ts'
import { allowSlowTests } from './slow-tests.ts'
import { startUsdcChain } from './usdc-chain.ts'
import type { UsdcChain } from './usdc-chain.ts'
import { testService } from './wallets.ts'
import { chainAccount, chainKey, headerOf, paymentV2, signAuthorization } from './x402-payment.ts'
import type { SignedAuthorization } from './x402-payment.ts'

export const feed = '/api/v1/alerts/feed'
export const price = 2000n
export const payer = chainAccount('payer')
/** The payer names the handle of a partner, or the nonce of a payment for a read. */
export const signBuyer = (buyer: string) =>
  payer.signMessage({ message: messages.payment(testService, { buyer }) })
const funds = 1_000_000_000_000n
/** Part of the URL of the node, like the keys of hosted nodes. */
const nodeKey = 'b5f0a1c2d3e4'

export interface PaymentTests extends PaymentChain {
  /** The service of the running test; a test may replace it. */
  paid: PaidService
}

interface PaymentChain {
  readonly chain: UsdcChain
  readonly proxy: RpcProxy
  /** Faults between service and chain; reset for every test. */
  rules: ProxyRules
}

export type Answer = Awaited<ReturnType<typeof getAnswer>>

const anyObject = z.record(z.string(), z.unknown())

export const decodedHeader = (headers: Headers, name: string) =>
  anyObject.parse(JSON.parse(Buffer.from(headers.get(name) ?? '', 'base64').toString()))

async function getAnswer(url: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(url, { headers })
  const body = anyObject.parse(await response.json())
  const code = z.string().optional().parse(body['code'])
  return { status: response.status, code, body, headers: response.headers }
}

export const buyFrom = ({ url }: PaidService, signed: SignedAuthorization) =>
  getAnswer(`${url}${feed}`, { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) })

/** One chain and one service per file; `payer` has 1,000 USDC. */
export function usePaidService(options: Omit<PaidOptions, 'chain'> = {}): {
  readonly chain: UsdcChain
  readonly service: PaidService
} {
  allowSlowTests('starts anvil')
  let chain: UsdcChain
  let service: PaidService
  beforeAll(async () => {
    chain = await startUsdcChain()
    await chain.mint(payer.address, 1_000_000_000n)
    service = await startPaidService({ chain, ...options })
  })
  afterAll(async () => {
    await service.stop()
    await chain.stop()
  })
  return {
    get chain() {
      return chain
    },
    get service() {
      return service
    },
  }
}

/** One chain behind a proxy per file, restored after each test; `payer` has a million USDC. */
export function usePaymentChain() {
  allowSlowTests('starts anvil')
  const tests = filledByHook<PaymentChain>({ rules: {} })
  beforeAll(async () => {
    const chain = await startUsdcChain()
    await chain.mint(payer.address, funds)
    const proxy = await startRpcProxy(chain.url, {
      before: async (request) => tests.rules.before?.(request),
      instead: (request) => tests.rules.instead?.(request),
      change: (request, answer) =>
        tests.rules.change === undefined ? answer : tests.rules.change(request, answer),
    })
    Object.assign(tests, { chain, proxy })
    return async () => {
      await proxy.stop()
      await chain.stop()
    }
  })
  beforeEach(async () => {
    tests.rules = {}
    return await tests.chain.snapshot()
  })
  return { tests, charged: async () => funds - (await tests.chain.balanceOf(payer.address)) }
}

/**
 * Expects at the end of each test that no answer, health report or log contains a key or a payment.
 *
 * @param start starts the service of each test; by default one that settles through the proxy.
 */
export function usePaymentTests(
  start = ({ chain, proxy }: PaymentTests): Promise<PaidService> =>
    startPaidService({ chain, rpcUrl: `${proxy.url}/${nodeKey}`, level: 'debug' }),
) {
  const { tests: chainTests, charged } = usePaymentChain()
  const tests = filledByHook<PaymentTests>(chainTests)
  const secrets = [nodeKey, chainKey('settler').slice(2)]
  const answers: unknown[] = []
  beforeEach(async () => {
    tests.paid = await start(tests)
    return async () => {
      await get('/api/v1/health', {})
      tests.rules = {}
      await tests.paid.stop()
      const shown = JSON.stringify([answers.splice(0), tests.paid.lines()]).toLowerCase()
      expect(secrets.filter((secret) => shown.includes(secret.toLowerCase()))).toEqual([])
    }
  })

  const get = async (path: string, headers: Readonly<Record<string, string>>) => {
    const answer = await getAnswer(`${tests.paid.url}${path}`, headers)
    answers.push(answer.body, [...answer.headers])
    return answer
  }
  const buy = (signed: SignedAuthorization, path = feed, headers: Record<string, string> = {}) => {
    const header = headerOf(paymentV2(signed))
    secrets.push(signed.signature.slice(2), header)
    return get(path, { 'PAYMENT-SIGNATURE': header, ...headers })
  }
  const expectUsed = async (signed: SignedAuthorization): Promise<void> => {
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
    expect(await charged()).toBe(price)
    expect(await tests.chain.usedAuthorizations()).toHaveLength(1)
  }
  return {
    tests,
    get,
    buy,
    charged,
    sign: (changes: Partial<SignedAuthorization['authorization']> = {}) =>
      signAuthorization(payer, { to: tests.paid.receiver, value: price, ...changes }),
    rows: () => listPayments(tests.paid.actions.database.reader, { afterSeq: 0, limit: 100 }),
    /** Expects that the payment buys nothing more and was charged once. */
    expectUsed,
    /** Expects that the payment buys its answer once more, and then nothing. */
    expectDeliveredOnce: async (signed: SignedAuthorization): Promise<void> => {
      expect((await buy(signed)).status).toBe(200)
      await expectUsed(signed)
    },
  }
}

/** Expects the answer that tells the payer to repeat the request with the same payment. */
export function expectPending({ status, code, headers }: Answer): void {
  expect([status, code]).toEqual([503, 'settlement_pending'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(headers.get('payment-required')).toBeNull()
}

/** Expects the answer for a payment that was not taken and may be sent again. */
export function expectUnavailable({ status, code, headers }: Answer): void {
  expect([status, code]).toEqual([503, 'payment_unavailable'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(headers.get('payment-required')).toBeNull()
}
