/** Purchases with the extension `payment-identifier`: repeated with a new authorization, they are charged once. */
import { once } from 'node:events'
import { request } from 'node:http'

import { expect, it } from 'vitest'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { dayMs } from '../../src/core/time.ts'
import { startPaidService } from '../support/paid-service.ts'
import { expectPending, feed, payer, price, usePaymentTests } from '../support/payment-tests.ts'
import { documentsOf } from '../support/site.ts'
import { smallWorld } from '../support/world.ts'
import {
  chainAccount,
  headerOf,
  paymentV2,
  signAuthorization,
  withIdentifier,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

const { tests: t, get, sign, charged, rows } = usePaymentTests()

const id = 'pay_7d5d747be160e280504c099d984bcfe0'
const named = (signed: SignedAuthorization, identifier = id) => ({
  'PAYMENT-SIGNATURE': headerOf(withIdentifier(paymentV2(signed), identifier)),
})
/** With a new authorization. */
const buyAs = async (identifier = id, path = feed) =>
  await get(path, named(await sign(), identifier))
const reused = { status: 409, code: 'payment_identifier_reused' }

it('a purchase repeated with its identifier gets the same answer and settlement for a day, and is charged once', async () => {
  const first = await buyAs()
  expect(first.status).toBe(200)
  t.paid.clock.advance(dayMs - 60_000)
  const later = () => ({ validBefore: BigInt(Math.floor(t.paid.clock.now() / 1000) + 120) })
  const again = await get(feed, named(await sign(later())))
  expect(again.status).toBe(200)
  expect(again.body).toEqual(first.body)
  for (const name of ['payment-response', 'x-payment-response', 'cache-control']) {
    expect(again.headers.get(name)).toBe(first.headers.get(name))
  }
  expect(await charged()).toBe(price)
  t.paid.clock.advance(60_000)
  expect((await get(feed, named(await sign(later())))).status).toBe(200)
  expect(await charged()).toBe(2n * price)
})

it('an image is repeated, too', async () => {
  await t.paid.stop()
  const { chain, proxy } = t
  const documents = [...documentsOf(smallWorld())]
  t.paid = await startPaidService({ chain, rpcUrl: proxy.url, documents })
  const path = '/api/v1/og?page=/rails/alpha&format=png'
  const [first, again] = [await buyImage(path), await buyImage(path)]
  expect([first.status, again.status]).toEqual([200, 200])
  expect(again.bytes.equals(first.bytes)).toBe(true)
  expect(again.type).toBe('image/png')
  expect(await charged()).toBe(1000n)
})

it('an identifier of another request gets 409, and the request is not charged', async () => {
  expect((await buyAs()).status).toBe(200)
  expect(await buyAs(id, `${feed}?limit=7`)).toMatchObject(reused)
  expect(await charged()).toBe(price)
  expect((await buyAs(`${id}_2`, `${feed}?limit=7`)).status).toBe(200)
  expect(await charged()).toBe(2n * price)
})

it('an identifier counts for its payer only, whose signature is required for the answer', async () => {
  expect((await buyAs()).status).toBe(200)
  const other = chainAccount('another payer')
  const terms = { to: t.paid.receiver, value: price }
  const forged = await signAuthorization(other, { ...terms, from: payer.address })
  expect(await get(feed, named(forged))).toMatchObject({
    status: 402,
    code: 'payment_signature_invalid',
  })
  expect(await get(feed, named(await signAuthorization(other, terms)))).toMatchObject({
    status: 402,
    code: 'insufficient_funds',
  })
})

it('the authorization of a purchase gets its answer again only with the identifier', async () => {
  const signed = await sign()
  expect((await get(feed, named(signed))).status).toBe(200)
  expect((await get(feed, named(signed))).status).toBe(200)
  const used = { status: 402, code: 'authorization_already_used' }
  for (const header of [named(signed, `${id}_2`)['PAYMENT-SIGNATURE'], headerOf(paymentV2(signed))])
    expect(await get(feed, { 'PAYMENT-SIGNATURE': header })).toMatchObject(used)
  expect(await charged()).toBe(price)
})

it('twenty concurrent payments with one identifier are charged once, and all get the answer in the end', async () => {
  const payments = await Promise.all(Array.from({ length: 20 }, () => sign()))
  const answers = await Promise.all(payments.map((signed) => get(feed, named(signed))))
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
  answers.filter(({ status }) => status !== 200).forEach(expectPending)
  for (const signed of payments) expect((await get(feed, named(signed))).status).toBe(200)
  expect(await charged()).toBe(price)
  expect(await rows()).toHaveLength(1)
})

it('a payer who hangs up after the transaction was sent gets the answer with a new authorization', async () => {
  const gone = new AbortController()
  t.rules = {
    before: async ({ method }) => {
      if (method !== 'eth_sendRawTransaction' || gone.signal.aborted) return
      gone.abort()
      const isLogged = () => t.paid.lines().some((line) => JSON.stringify(line).includes(feed))
      while (!isLogged()) await t.paid.clock.sleep(5)
    },
  }
  const headers = named(await sign())
  await once(request(`${t.paid.url}${feed}`, { headers, signal: gone.signal }).end(), 'error')
  const { payments } = t.paid.actions
  if (payments.mode === 'off') throw new Error('payments are off')
  while (payments.inFlight.size > 0) await t.paid.clock.sleep(5)
  expect(await rows()).toMatchObject([{ state: 'settled', deliveredAt: null }])
  const [delivered, again] = [await buyAs(), await buyAs()]
  expect([delivered.status, again.status]).toEqual([200, 200])
  expect(again.headers.get('payment-response')).toBe(delivered.headers.get('payment-response'))
  expect(await charged()).toBe(price)
})

it('a new authorization waits for the submitted one, and is charged only if that one has expired', async () => {
  await t.chain.automine(false)
  expectPending(await buyAs())
  expectPending(await buyAs())
  await t.chain.mine()
  expect((await buyAs()).status).toBe(200)
  expect(await charged()).toBe(price)

  t.rules = {
    instead: ({ method }) => (method === 'eth_sendRawTransaction' ? { body: '' } : undefined),
  }
  await get(feed, named(await sign(), `${id}_2`))
  expectPending(await buyAs(`${id}_2`))
  t.rules = {}
  expect((await rows()).map(({ state }) => state)).toEqual(['settled', 'submitted'])
  await t.chain.automine(true)
  await t.chain.rpc('evm_increaseTime', ['0x12c'])
  await t.chain.mine()
  await createPaymentWatch(t.paid.actions).run()
  expect((await rows()).map(({ state }) => state)).toEqual(['settled', 'failed'])
  const late = await sign({ validBefore: BigInt(Math.floor(Date.now() / 1000) + 900) })
  expect((await get(feed, named(late, `${id}_2`))).status).toBe(200)
  expect(await charged()).toBe(2n * price)
})

async function buyImage(path: string) {
  const response = await fetch(`${t.paid.url}${path}`, {
    headers: named(await sign({ value: 1000n })),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, type: response.headers.get('content-type'), bytes }
}
