import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { paymentEffects } from '../../src/actions/settlement.ts'
import { fillOath } from '../../src/auth/messages.ts'
import { ownPartner, ownSubscription, signupAnswer } from '../../src/contract/schemas/partner.ts'
import { GRACE_MS, PATIENCE_MS, PERIOD_MS } from '../../src/core/partner.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import { expireSubscriptions } from '../../src/db/partners.ts'
import { listPayments, closePayment } from '../../src/db/payments.ts'
import { publicDir, startService } from '../support/http-service.ts'
import { startPaidService } from '../support/paid-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { payer, signBuyer, usePaymentTests } from '../support/payment-tests.ts'
import { evmWallet, partnerHeaders } from '../support/wallets.ts'
import { headerOf, paymentV1, paymentV2, withIdentifier } from '../support/x402-payment.ts'

// The payer is not the wallet of a partner.
const { tests: t, sign: signPayment } = usePaymentTests(({ chain }) => startPaidService({ chain }))
const alice = evmWallet('alice')
const bob = evmWallet('bob')
const path = '/api/v1/partners/subscription'
const usd = (usdc: number) => BigInt(Math.round(usdc * 1e6))

const requestTier = (tier: string, headers: Record<string, string> = {}, wallet = alice) =>
  partnerClient(t.paid, wallet)('POST', path, { tier }, headers)
/** A request of alice for the tier pro, to be sent by any `fetch`. */
async function signedRequest(binding: 'body' | 'path') {
  const raw = '{"tier":"pro"}'
  const signing = { nowMs: t.paid.clock.now(), binding }
  const signed = await partnerHeaders(alice, { method: 'POST', path, raw }, signing)
  const headers = { 'Content-Type': 'application/json', ...signed, ...(await named()) }
  return { url: `${t.paid.url}${path}`, init: { method: 'POST', headers, body: raw } }
}
const me = async (wallet = alice) =>
  ownPartner.parse((await partnerClient(t.paid, wallet)('GET', '/api/v1/partners/me')).body)

/** A payment that is valid for two minutes by the clock of the service. */
const sign = async (usdc: number) =>
  await signPayment({
    value: usd(usdc),
    validBefore: BigInt(Math.floor(t.paid.clock.now() / 1000) + 120),
  })
const named = async () => ({ 'X-Payer-Signature': await signBuyer('acme-agents') })
const payment = async (usdc: number) => ({
  'PAYMENT-SIGNATURE': headerOf(paymentV2(await sign(usdc))),
  ...(await named()),
})

async function paid(tier: string, usdc: number, wallet = alice) {
  const answer = await requestTier(tier, await payment(usdc), wallet)
  expect([answer.status, answer.body['code']]).toEqual([200, undefined])
  return ownSubscription.parse(answer.body)
}
const joinAsPartner = (tier?: 'starter' | 'pro') =>
  makePartner(t.paid, alice, { handle: 'acme-agents', ...(tier === undefined ? {} : { tier }) })
const received = () => t.chain.balanceOf(t.paid.receiver)
const at = (timeMs: number) => new Date(timeMs).toISOString()
/** Whole periods of 30 days. */
const paidFrom = (startMs: number, end: string | null) =>
  Math.floor((Date.parse(end ?? '') - startMs) / PERIOD_MS)

async function signup(tier: string, wallet = alice, handle = 'acme-agents') {
  const text = t.paid.actions.reference().oaths.get('partner')?.text ?? ''
  const timestamp = at(t.paid.clock.now())
  const oath = await wallet.sign(fillOath(text, { wallet: wallet.address, timestamp }))
  const body = { handle, display_name: 'Acme', tier, timestamp, oath_signature: oath }
  return await partnerClient(t.paid, wallet)('POST', '/api/v1/partners/signup', body)
}

describe('a subscription', () => {
  test('a subscription passes through signup, payment, upgrade, grace period, renewal and cancellation', async () => {
    const joined = signupAnswer.parse((await signup('starter')).body)
    expect(joined.payment).toMatchObject({
      price_usdc: 29,
      pay_to: `https://ledger.test${path}`,
      accepts_v1: [{ maxAmountRequired: '29000000', payTo: t.paid.receiver }],
      accepts_v2: [{ amount: '29000000', payTo: t.paid.receiver }],
    })
    expect(await me()).toMatchObject({
      status: 'pending',
      renews_at: null,
      next: { kind: 'end', tier: 'starter', price_usdc: 29 },
    })

    const first = await paid('starter', 29)
    const startMs = Date.parse(first.change.from ?? '')
    expect(first).toMatchObject({
      status: 'active',
      tier: 'starter',
      renews_at: at(startMs + PERIOD_MS),
      next: { kind: 'payment', at: at(startMs + PERIOD_MS), tier: 'starter', price_usdc: 29 },
      change: { kind: 'paid', paid_usdc: 29, payer: payer.address },
    })

    t.paid.clock.advance(startMs + 15 * dayMs - t.paid.clock.now())
    const offer = await requestTier('pro')
    expect(offer.status).toBe(402)
    expect(offer.headers.get('x-payment-price-usdc')).toBe('99')
    const upgraded = await paid('pro', 99)
    const upgradedMs = Date.parse(upgraded.change.from ?? '')
    const restMs = startMs + PERIOD_MS - upgradedMs
    expect(upgraded).toMatchObject({
      tier: 'pro',
      renews_at: at(upgradedMs + PERIOD_MS + Math.ceil((restMs * 29) / 99)),
      change: { paid_usdc: 99 },
    })
    expect((await partnerClient(t.paid, alice)('GET', '/api/v1/arbitrage')).status).not.toBe(402)

    const endMs = Date.parse(upgraded.renews_at ?? '')
    t.paid.clock.advance(endMs - t.paid.clock.now())
    expect(await me()).toMatchObject({ status: 'past_due', next: { at: at(endMs + GRACE_MS) } })
    const late = await partnerClient(t.paid, alice)('POST', '/api/v1/jobs', {})
    expect(late.status).toBeGreaterThanOrEqual(400)
    t.paid.clock.advance(3 * dayMs)
    expect(await paid('pro', 99)).toMatchObject({
      status: 'active',
      renews_at: at(endMs + PERIOD_MS),
    })

    const cancelled = await partnerClient(t.paid, alice)('DELETE', path)
    expect(cancelled.body).toMatchObject({
      status: 'active',
      next: { kind: 'end', at: at(endMs + PERIOD_MS), tier: null },
      change: { kind: 'cancelled', paid_usdc: 0 },
    })
    t.paid.clock.advance(endMs + PERIOD_MS - t.paid.clock.now() - hourMs)
    expect((await me()).status).toBe('active')
    t.paid.clock.advance(hourMs)
    expect(await me()).toMatchObject({ status: 'cancelled', next: null })

    const { body } = await partnerClient(t.paid, alice)('GET', '/api/v1/partners/acme-agents/oaths')
    const rows = z.object({ oaths: z.array(z.object({ action: z.string() })) }).parse(body).oaths
    expect(rows.map(({ action }) => action)).toEqual([
      'cancelSubscription',
      'changeSubscription',
      'changeSubscription',
      'changeSubscription',
      'signupPartner',
    ])
  })

  test('a subscription offers the terms of both versions and accepts a version 1 payment', async () => {
    await joinAsPartner()
    const { status, body, headers } = await requestTier('team')
    expect([status, body['code'], body['x402Version']]).toEqual([402, 'payment_required', 1])
    expect(body['accepts']).toMatchObject([{ network: 'base', maxAmountRequired: '299000000' }])
    const required = Buffer.from(headers.get('payment-required') ?? '', 'base64').toString()
    expect(JSON.parse(required)).toMatchObject({
      x402Version: 2,
      resource: { url: `https://ledger.test${path}` },
      accepts: [{ amount: '299000000' }],
      extensions: { bazaar: { info: { input: { method: 'POST', body: { tier: 'team' } } } } },
    })
    const header = { 'X-PAYMENT': headerOf(paymentV1(await sign(299))), ...(await named()) }
    const legacy = await requestTier('team', header)
    expect([legacy.status, legacy.body['tier']]).toEqual([200, 'team'])
    expect(legacy.headers.get('x-payment-response')).not.toBeNull()
    expect(await received()).toBe(usd(299))
  })

  test("a subscription is paid by the x402 project's client within its spending limit", async () => {
    await joinAsPartner()
    const { url, init } = await signedRequest('body')
    const schemes = [{ network: 'eip155:8453', client: new ExactEvmScheme(payer) }] as const
    const spendControls = { maxAmountPerPayment: '$99' } as const
    const client = x402Client.fromConfig({ schemes: [...schemes], spendControls })
    const answer = await wrapFetchWithPayment(fetch, client)(url, init)
    expect(answer.status).toBe(200)
    expect(ownSubscription.parse(await answer.json())).toMatchObject({ tier: 'pro' })
  })

  test("a subscription does not start with a wrong amount or another tier's price, nor is it charged", async () => {
    await joinAsPartner()
    for (const usdc of [29, 98.999999, 99.000001]) {
      const { status, body } = await requestTier('pro', await payment(usdc))
      expect([status, body['code']]).toEqual([402, 'payment_mismatch'])
    }
    expect(await received()).toBe(0n)
    expect((await me()).tier).toBe('free')
    expect((await requestTier('gold')).status).toBe(400)
  })

  test('a subscription is for partners only: others get no payment terms', async () => {
    const { status, body } = await requestTier('pro', await payment(99), bob)
    expect([status, body['code']]).toEqual([403, 'not_a_partner'])
    const anyone = await fetch(`${t.paid.url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"tier":"pro"}',
    })
    expect(anyone.status).toBe(401)
  })

  test('a subscription requires the body-bound signature where the partner chose it', async () => {
    await joinAsPartner()
    const { write } = t.paid.actions.database
    await write((tx) => tx.updateTable('partners').set({ require_body_signature: 1 }).execute())
    const { url, init } = await signedRequest('path')
    const headers = { ...init.headers, ...(await payment(99)) }
    const answer = await fetch(url, { ...init, headers })
    expect(answer.status).toBe(401)
    expect((await me()).tier).toBe('free')
  })

  test('a lower tier starts at once with the rest of the paid time, and the expiry job ends it', async () => {
    await joinAsPartner('pro')
    t.paid.clock.advance(10 * dayMs)
    const nowMs = t.paid.clock.now()
    const lower = await paid('starter', 29)
    const endMs = Date.parse(lower.renews_at ?? '')
    expect(Math.floor((endMs - nowMs - PERIOD_MS) / dayMs)).toBe(68)
    expect(lower).toMatchObject({
      tier: 'starter',
      next: { kind: 'payment', at: at(endMs), tier: 'starter', price_usdc: 29 },
    })
    t.paid.clock.advance(endMs - t.paid.clock.now())
    expect((await me()).status).toBe('past_due')
    const { write, reader } = t.paid.actions.database
    const expire = () => write((tx) => expireSubscriptions(tx, t.paid.clock.now()))
    const statuses = () => reader.selectFrom('partners').select('status').execute()
    expect(await statuses()).toEqual([{ status: 'active' }])
    expect(await expire()).toBe(1)
    expect(await statuses()).toEqual([{ status: 'past_due' }])
    expect(await expire()).toBe(0)
  })

  test('a subscription returns to free when the paid time ends, and keeps its handle', async () => {
    await joinAsPartner('pro')
    const endMs = Date.parse((await me()).renews_at ?? '')
    expect((await requestTier('free')).body).toMatchObject({ tier: 'pro', next: { kind: 'free' } })
    t.paid.clock.advance(endMs - t.paid.clock.now())
    expect(await me()).toMatchObject({ tier: 'free', status: 'active', renews_at: null })
    expect((await partnerClient(t.paid, alice)('DELETE', path)).body).toMatchObject({
      status: 'cancelled',
    })
    expect((await requestTier('free')).body).toMatchObject({ tier: 'free', status: 'active' })
    expect(await paid('pro', 99)).toMatchObject({ handle: 'acme-agents', tier: 'pro' })
  })

  test('a subscription not paid in time is cancelled, and starts when it is paid later', async () => {
    await signup('pro')
    t.paid.clock.advance(PATIENCE_MS)
    expect((await me()).status).toBe('cancelled')
    expect(await paid('pro', 99)).toMatchObject({ status: 'active', tier: 'pro' })
  })
})

describe('one payment', () => {
  test('one payment buys one period, however often it is sent', async () => {
    await joinAsPartner()
    await makePartner(t.paid, bob, { handle: 'bobs-agents' })
    const header = await payment(99)
    const first = await requestTier('pro', header)
    const end = (await me()).renews_at
    const again = await requestTier('pro', header)
    expect([again.status, again.body]).toEqual([200, first.body])
    const spent = {
      otherTier: await requestTier('team', header),
      otherPartner: await requestTier('pro', header, bob),
      read: await fetch(`${t.paid.url}/api/v1/arbitrage`, { headers: header }),
    }
    expect(spent.otherTier.status).toBe(402)
    expect([spent.otherPartner.status, spent.otherPartner.body['code']]).toEqual([
      402,
      'authorization_already_used',
    ])
    expect(spent.read.status).toBe(402)
    expect(await received()).toBe(usd(99))
    expect((await me()).renews_at).toBe(end)
    expect((await me(bob)).tier).toBe('free')
  })

  test('a repeated signed request gets the same response, and a second payment in it is not settled', async () => {
    await joinAsPartner()
    const { url, init } = await signedRequest('body')
    const send = async () =>
      await fetch(url, { ...init, headers: { ...init.headers, ...(await payment(99)) } })
    const first = await send()
    const second = await send()
    expect([first.status, second.status]).toEqual([200, 200])
    expect(await second.json()).toEqual(await first.json())
    expect(await received()).toBe(usd(99))
  })

  test('two payments with one identifier buy one period, and only one is charged', async () => {
    await joinAsPartner()
    const buy = async () => {
      const header = headerOf(withIdentifier(paymentV2(await sign(99)), 'renewal_2026-12_of_acme'))
      return await requestTier('pro', { 'PAYMENT-SIGNATURE': header, ...(await named()) })
    }
    const [first, again] = [await buy(), await buy()]
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
    expect(await received()).toBe(usd(99))
  })

  test('one payment sent concurrently buys one period', async () => {
    await joinAsPartner()
    const startMs = t.paid.clock.now()
    const header = await payment(99)
    const answers = await Promise.all(Array.from({ length: 8 }, () => requestTier('pro', header)))
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
    for (const { status } of answers) expect([200, 503]).toContain(status)
    expect(await received()).toBe(usd(99))
    expect(paidFrom(startMs, (await me()).renews_at)).toBe(1)
  })

  test('two concurrent payments buy a period each', async () => {
    await joinAsPartner()
    const startMs = t.paid.clock.now()
    const headers = await Promise.all([payment(99), payment(99)])
    const answers = await Promise.all(headers.map((header) => requestTier('pro', header)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await received()).toBe(usd(198))
    expect(paidFrom(startMs, (await me()).renews_at)).toBe(2)
  })

  test('a payment concurrent with one for a higher tier loses no value', async () => {
    await joinAsPartner()
    const [starter, pro] = [await payment(29), await payment(99)]
    const answers = await Promise.all([requestTier('starter', starter), requestTier('pro', pro)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const { tier, renews_at: end } = await me()
    const prices: Readonly<Record<string, number>> = { starter: 29, pro: 99 }
    const usdc = ((Date.parse(end ?? '') - t.paid.clock.now()) * (prices[tier] ?? 0)) / PERIOD_MS
    expect(usdc).toBeCloseTo(128)
  })

  test('an unmined payment is pending, and buys its period once mined, even if the price has changed', async () => {
    await joinAsPartner('starter')
    t.paid.clock.advance(10 * dayMs)
    const header = await payment(99)
    await t.chain.automine(false)
    const early = await requestTier('pro', header)
    expect([early.status, early.body['code']]).toEqual([503, 'settlement_pending'])
    expect(early.headers.get('payment-required')).toBeNull()
    expect((await me()).tier).toBe('starter')
    await t.chain.mine()
    await t.chain.automine(true)
    const { tiers } = t.paid.actions.reference()
    const pro = tiers.get('pro')
    if (pro === undefined || !(tiers instanceof Map)) throw new Error('there is no tier pro')
    tiers.set('pro', { ...pro, price_usdc_month: 199 })
    const done = await requestTier('pro', header)
    tiers.set('pro', pro)
    expect([done.status, done.body['tier']]).toEqual([200, 'pro'])
  })

  test('a payment whose payer never returns still buys its period after a restart of the service', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-restart-'))
    const databasePath = join(folder, 'ledger.db')
    await t.paid.stop()
    t.paid = await startPaidService({ chain: t.chain, databasePath })
    await joinAsPartner()
    await t.chain.automine(false)
    expect((await requestTier('pro', await payment(99))).status).toBe(503)
    await t.paid.stop()
    await t.chain.mine()
    await t.chain.automine(true)
    t.paid = await startPaidService({ chain: t.chain, databasePath })
    expect((await me()).tier).toBe('free')
    await createPaymentWatch(t.paid.actions).run()
    expect(await me()).toMatchObject({ tier: 'pro', status: 'active' })
    const end = (await me()).renews_at
    await createPaymentWatch(t.paid.actions).run()
    expect((await me()).renews_at).toBe(end)
    rmSync(folder, { recursive: true, force: true })
  })

  test('a payment that a reorganisation reverted for good loses its period', async () => {
    await joinAsPartner()
    await paid('starter', 29)
    const end = (await me()).renews_at
    const header = await payment(29)
    expect((await requestTier('starter', header)).status).toBe(200)
    const { actions } = t.paid
    const payments = await listPayments(actions.database.reader, { afterSeq: 0, limit: 9 })
    const last = payments.at(-1)
    if (last === undefined) throw new Error('nothing was paid')
    await actions.database.write(async (tx) => {
      await closePayment(tx, last.id, { finality: 'undone', reason: 'a reorganisation' })
      await paymentEffects.subscription.undone(actions, tx, last, t.paid.clock.now())
    })
    expect((await me()).renews_at).toBe(end)
    const again = await requestTier('starter', header)
    expect([again.status, again.body['code']]).toEqual([402, 'authorization_already_used'])
    expect((await me()).renews_at).toBe(end)
  })
})

test('a subscription is impossible where settlement is off, and its terms offer no way to pay', async () => {
  const published = await publicDir()
  const off = await startService(published.dir)
  try {
    await makePartner(off, alice, { handle: 'acme-agents' })
    const answer = await partnerClient(off, alice)('POST', path, { tier: 'pro' })
    expect([answer.status, answer.body['code'], answer.body['accepts']]).toEqual([
      402,
      'payment_off',
      [],
    ])
    expect(answer.headers.get('payment-required')).toBeNull()
    expect((await partnerClient(off, alice)('POST', path, { tier: 'free' })).status).toBe(200)
  } finally {
    await off.stop()
    await published.remove()
  }
})
