/** Settlement by a facilitator: the one of the x402 project, over HTTP, and what if it fails or lies. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { createWalletChain } from '../../src/auth/wallet-chain.ts'
import { loadPayments } from '../../src/payments/load.ts'
import { systemClock } from '../../src/runtime/runtime.ts'
import { impatientMs, startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { referenceFacilitator, serveFacilitator } from '../support/reference-facilitator.ts'
import type { HttpFacilitator } from '../support/reference-facilitator.ts'
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
import type { SignedAuthorization } from '../support/x402-payment.ts'

allowSlowTests('starts anvil')

const payer = chainAccount('payer')
/** Price of the feed. */
const price = 2000n
const funds = 1_000_000n
let chain: UsdcChain
let facilitator: HttpFacilitator
let paid: PaidService
let restore: () => Promise<void>

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, funds)
  await chain.fund(chainAccount('facilitator').address)
})

beforeEach(async () => {
  restore = await chain.snapshot()
  // A new one each time: it believes to know the next nonce of its wallet.
  facilitator = await serveFacilitator(referenceFacilitator(chain.url))
  paid = await startPaidService({ chain, facilitatorUrl: facilitator.url })
})

afterEach(async () => {
  await paid.stop()
  await facilitator.stop()
  await restore()
})

afterAll(async () => {
  await chain.stop()
})

const sign = () => signAuthorization(payer, { to: paid.receiver, value: price })
const charged = async () => funds - (await chain.balanceOf(payer.address))

async function buy(signed: SignedAuthorization, form = paymentV2) {
  const response = await fetch(`${paid.url}/api/v1/alerts/feed`, {
    headers: { 'PAYMENT-SIGNATURE': headerOf(form(signed)) },
  })
  const { code } = z.looseObject({ code: z.string().optional() }).parse(await response.json())
  return { status: response.status, code, headers: response.headers }
}

async function expectUsed(signed: SignedAuthorization): Promise<void> {
  const again = await buy(signed)
  expect([again.status, again.code]).toEqual([402, 'authorization_already_used'])
  expect(await charged()).toBe(price)
}

/** 200 now, or pending now and 200 at the next try. */
async function expectDeliveredOnce(signed: SignedAuthorization): Promise<void> {
  const first = await buy(signed)
  if (first.status !== 200) {
    expect([first.status, first.code]).toEqual([503, 'settlement_pending'])
    expect(first.headers.get('payment-required')).toBeNull()
    facilitator.behave(() => undefined)
    expect((await buy(signed)).status).toBe(200)
  }
  await expectUsed(signed)
}

async function expectNotCharged(answer: Awaited<ReturnType<typeof buy>>): Promise<void> {
  expect([answer.status, answer.code]).toEqual([503, 'payment_unavailable'])
  expect(answer.headers.get('payment-required')).toBeNull()
  expect(await charged()).toBe(0n)
}

describe('a facilitator', () => {
  it('settles payments of both versions', async () => {
    for (const form of [paymentV2, paymentV1]) {
      const signed = await sign()
      const { status, headers } = await buy(signed, form)
      expect(status).toBe(200)
      const { transaction } = z
        .looseObject({ transaction: z.string() })
        .parse(JSON.parse(Buffer.from(headers.get('payment-response') ?? '', 'base64').toString()))
      const used = await chain.usedAuthorizations()
      expect(used.at(-1)).toMatchObject({ nonce: signed.authorization.nonce, transaction })
    }
    expect(await charged()).toBe(2n * price)
  })

  it('is asked to settle one payment once, however often that is used', async () => {
    const signed = await sign()
    const answers = await Promise.all(Array.from({ length: 20 }, () => buy(signed)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    await expectUsed(signed)
    expect(facilitator.calls.filter((path) => path === '/settle')).toHaveLength(1)
  })

  it('that settled and could not say so has settled', async () => {
    facilitator.behave((path) => (path === '/settle' ? 'lost' : undefined))
    await expectDeliveredOnce(await sign())
  })

  it('that settled and says it did not is not believed', async () => {
    facilitator.behave((path) =>
      path === '/settle'
        ? {
            body: {
              success: false,
              errorReason: 'invalid_transaction_state',
              transaction: '',
              network: 'eip155:8453',
            },
          }
        : undefined,
    )
    await expectDeliveredOnce(await sign())
  })

  it('that names another transaction than the one that settled is not believed', async () => {
    await paid.stop()
    const url = facilitator.url
    paid = await startPaidService({ chain, facilitatorUrl: url, pausesMs: impatientMs })
    facilitator.behave((path, truth) =>
      path === '/settle' ? { body: { ...truth, transaction: `0x${'12'.repeat(32)}` } } : undefined,
    )
    await expectDeliveredOnce(await sign())
  })

  it('that says it settled and did not gets nothing delivered', async () => {
    const liar = await serveFacilitator(
      Object.assign(referenceFacilitator(chain.url), {
        settle: () =>
          Promise.resolve({
            success: true,
            transaction: `0x${'12'.repeat(32)}`,
            network: 'eip155:8453' as const,
            payer: payer.address,
          }),
      }),
    )
    await paid.stop()
    paid = await startPaidService({ chain, facilitatorUrl: liar.url, pausesMs: impatientMs })
    const signed = await sign()
    const answer = await buy(signed)
    expect(answer.status).not.toBe(200)
    expect(answer.headers.get('payment-required')).toBeNull()
    expect(await charged()).toBe(0n)
    await liar.stop()
  })

  it.each([
    ['is broken', { status: 500, body: { error: 'no' } }],
    ['answers nonsense', { body: ['yes'] }],
    ['refuses us', { status: 401, body: { error: 'key' } }],
  ])('that %s when it is to verify takes no payment', async (_, answer) => {
    facilitator.behave((path) => (path === '/verify' ? answer : undefined))
    const signed = await sign()
    await expectNotCharged(await buy(signed))
    facilitator.behave(() => undefined)
    await expectDeliveredOnce(signed)
  })

  it('that is down takes no payment', async () => {
    const dead = await serveFacilitator(referenceFacilitator(chain.url))
    await dead.stop()
    await paid.stop()
    paid = await startPaidService({ chain, facilitatorUrl: dead.url })
    await expectNotCharged(await buy(await sign()))
  })

  it('that finds the payment bad charges nobody', async () => {
    const poor = chainAccount('a payer without funds')
    const signed = await signAuthorization(poor, { to: paid.receiver, value: price })
    const { status, headers } = await buy(signed)
    expect(status).toBe(402)
    expect(headers.get('payment-required')).not.toBeNull()
    expect(facilitator.calls).not.toContain('/settle')
  })

  it.each([
    ['works', undefined, []],
    ['is down', 'lost', ['settlement: the facilitator is out of reach']],
    [
      'settles elsewhere',
      { body: { kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:1' }] } },
      ['settlement: the facilitator does not settle exact payments on Base'],
    ],
  ] as const)('that %s is told in the state of the service', async (_, answer, problems) => {
    facilitator.behave((path) => (path === '/supported' ? answer : undefined))
    const { request } = createWalletChain(chain.url, { fetch, clock: systemClock })
    const payments = await loadPayments(
      { mode: 'facilitator', receiver: paid.receiver, facilitatorUrl: facilitator.url },
      { clock: systemClock, fetch, request },
    )
    if (payments.mode === 'off') throw new Error('payments are off')
    await payments.inspect()
    expect(payments.problems()).toEqual(problems)
  })
})
