/** Settlement by the facilitator of the x402 project over HTTP, and by one that fails or gives false answers. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'

import { createServiceNode } from '../../src/chain/node.ts'
import { loadPayments } from '../../src/payments/load.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { impatientMs, startPaidService } from '../support/paid-service.ts'
import {
  decodedHeader,
  expectUnavailable,
  feed,
  payer,
  price,
  usePaymentTests,
} from '../support/payment-tests.ts'
import type { Answer } from '../support/payment-tests.ts'
import { referenceFacilitator, serveFacilitator } from '../support/reference-facilitator.ts'
import type { HttpFacilitator } from '../support/reference-facilitator.ts'
import {
  chainAccount,
  headerOf,
  paymentV1,
  paymentV2,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

let facilitator: HttpFacilitator

const payments = usePaymentTests(async ({ chain }) => {
  // A new one for each test, since it caches the nonce of its wallet.
  facilitator = await serveFacilitator(referenceFacilitator(chain.url))
  return await startPaidService({ chain, facilitatorUrl: facilitator.url })
})
const { tests: t, get, buy, sign, charged, expectUsed, rows } = payments

beforeAll(() => t.chain.fund(chainAccount('facilitator').address))
afterEach(() => facilitator.stop())

const refusalFor = (errorReason: string) => ({
  body: { success: false, errorReason, transaction: '', network: 'eip155:8453' as const },
})

/** The payment is delivered now, or is pending now and delivered at the next try. */
async function expectDelivered(signed: SignedAuthorization): Promise<void> {
  const first = await buy(signed)
  if (first.status !== 200) {
    expect([first.status, first.code]).toEqual([503, 'settlement_pending'])
    expect(first.headers.get('payment-required')).toBeNull()
    facilitator.behave(() => undefined)
    expect((await buy(signed)).status).toBe(200)
  }
  await expectUsed(signed)
}

async function expectNotCharged(answer: Answer): Promise<void> {
  expectUnavailable(answer)
  expect(await charged()).toBe(0n)
}

describe('a facilitator', () => {
  it('a facilitator settles payments of both versions', async () => {
    for (const form of [paymentV2, paymentV1]) {
      const signed = await sign()
      const { status, headers } = await get(feed, { 'PAYMENT-SIGNATURE': headerOf(form(signed)) })
      expect(status).toBe(200)
      const { transaction } = decodedHeader(headers, 'payment-response')
      const used = await t.chain.usedAuthorizations()
      expect(used.at(-1)).toMatchObject({ nonce: signed.authorization.nonce, transaction })
    }
    expect(await charged()).toBe(2n * price)
  })

  it('a facilitator receives the resource and the extensions of this service, never the copy of the payer', async () => {
    const signed = await sign()
    const copy = { resource: { url: 'https://elsewhere.test' }, extensions: { bazaar: {} } }
    const header = headerOf({ ...paymentV2(signed), ...copy })
    expect((await get(feed, { 'PAYMENT-SIGNATURE': header })).status).toBe(200)
    expect(facilitator.payments).toHaveLength(2)
    for (const { resource, extensions } of facilitator.payments) {
      expect(resource).toEqual({
        url: `https://ledger.test${feed}`,
        description: expect.stringMatching(/^.{20,500}$/) as unknown,
        mimeType: 'application/json',
        serviceName: 'Agent Income Ledger',
        tags: expect.arrayContaining(['ai-agents']) as unknown,
        iconUrl: 'https://ledger.test/favicon.svg',
      })
      expect(extensions).toMatchObject({ bazaar: { info: { input: { type: 'http' } } } })
    }
  })

  it('a facilitator is called once per payment, however often it is sent', async () => {
    const signed = await sign()
    const answers = await Promise.all(Array.from({ length: 20 }, () => buy(signed)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    await expectUsed(signed)
    expect(facilitator.calls.filter((path) => path === '/settle')).toHaveLength(1)
  })

  it('a payment is delivered although the response of its facilitator was lost', async () => {
    facilitator.behave((path) => (path === '/settle' ? 'lost' : undefined))
    await expectDelivered(await sign())
  })

  it.each(['invalid_transaction_state', 'insufficient_funds'])(
    'a facilitator that settled and denies it as %s is not trusted',
    async (errorReason) => {
      facilitator.behave((path) => (path === '/settle' ? refusalFor(errorReason) : undefined))
      await expectDelivered(await sign())
    },
  )

  it.each([
    ['insufficient_funds', 'insufficient_funds'],
    ['invalid_exact_evm_payload_authorization_valid_before', 'payment_expired'],
    ['invalid_exact_evm_payload_signature', 'payment_signature_invalid'],
  ])(
    'a payment that the facilitator refuses to settle as %s is a 402 after one look at the chain, and may be sent again',
    async (errorReason, code) => {
      const reference = referenceFacilitator(t.chain.url)
      const settle = reference.settle.bind(reference)
      const { body } = refusalFor(errorReason)
      const refusing = Object.assign(reference, { settle: () => Promise.resolve(body) })
      const strict = await serveFacilitator(refusing)
      await t.paid.stop()
      t.paid = await startPaidService({ chain: t.chain, facilitatorUrl: strict.url })
      const signed = await sign()
      const answer = await buy(signed)
      expect([answer.status, answer.code]).toEqual([402, code])
      expect(answer.headers.get('payment-required')).not.toBeNull()
      expect(await charged()).toBe(0n)
      expect(await rows()).toMatchObject([{ state: 'submitted' }])
      Object.assign(reference, { settle })
      await expectDelivered(signed)
      await strict.stop()
    },
  )

  it('a facilitator that has no gas is not taken for a payer without funds', async () => {
    const invalidReason = 'insufficient funds for gas * price + value'
    facilitator.behave((path) =>
      path === '/verify' ? { body: { isValid: false, invalidReason } } : undefined,
    )
    const answer = await buy(await sign())
    expect([answer.status, answer.code]).toEqual([402, 'payment_refused'])
  })

  it('a facilitator that names another transaction is not trusted', async () => {
    await t.paid.stop()
    const url = facilitator.url
    t.paid = await startPaidService({ chain: t.chain, facilitatorUrl: url, pausesMs: impatientMs })
    facilitator.behave((path, truth) =>
      path === '/settle' ? { body: { ...truth, transaction: `0x${'12'.repeat(32)}` } } : undefined,
    )
    await expectDelivered(await sign())
  })

  it('a payment is not delivered if the facilitator falsely claims its settlement', async () => {
    const liar = await serveFacilitator(
      Object.assign(referenceFacilitator(t.chain.url), {
        settle: () =>
          Promise.resolve({
            success: true,
            transaction: `0x${'12'.repeat(32)}`,
            network: 'eip155:8453' as const,
            payer: payer.address,
          }),
      }),
    )
    await t.paid.stop()
    t.paid = await startPaidService({
      chain: t.chain,
      facilitatorUrl: liar.url,
      pausesMs: impatientMs,
    })
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
  ])('a facilitator that %s during verification settles nothing', async (_, answer) => {
    facilitator.behave((path) => (path === '/verify' ? answer : undefined))
    const signed = await sign()
    await expectNotCharged(await buy(signed))
    facilitator.behave(() => undefined)
    await expectDelivered(signed)
  })

  it('a facilitator that is down settles nothing', async () => {
    const dead = await serveFacilitator(referenceFacilitator(t.chain.url))
    await dead.stop()
    await t.paid.stop()
    t.paid = await startPaidService({ chain: t.chain, facilitatorUrl: dead.url })
    await expectNotCharged(await buy(await sign()))
  })

  it('a facilitator that refuses the payment charges nobody', async () => {
    const poor = chainAccount('a payer without funds')
    const signed = await signAuthorization(poor, { to: t.paid.receiver, value: price })
    const { status, headers } = await buy(signed)
    expect(status).toBe(402)
    expect(headers.get('payment-required')).not.toBeNull()
    expect(facilitator.calls).not.toContain('/settle')
  })

  it.each([
    ['works', undefined, []],
    ['is down', 'lost', ['settlement: the facilitator is unavailable']],
    [
      'settles on another chain',
      { body: { kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:1' }] } },
      ['settlement: the facilitator does not settle exact payments on Base'],
    ],
  ] as const)('the health report shows a facilitator that %s', async (_, answer, problems) => {
    facilitator.behave((path) => (path === '/supported' ? answer : undefined))
    const deps = { fetch, clock: systemClock, random: systemRandom }
    const node = createServiceNode(t.chain.url, deps)
    const settings = { mode: 'facilitator', receiver: t.paid.receiver, cdpKey: null } as const
    const payments = await loadPayments(
      { ...settings, facilitatorUrl: facilitator.url },
      { ...deps, node, holder: 'test' },
    )
    if (payments.mode === 'off') throw new Error('payments are off')
    await payments.inspect()
    expect(payments.problems()).toEqual(problems)
  })
})
