import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'

import { createClient } from '../../src/client/client.ts'
import { PaymentRequiredError } from '../../src/client/errors.ts'
import { evmSigner } from '../../src/client/signers.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import { runSample, samplesIn } from '../support/guides.ts'
import { makePartner } from '../support/partners.ts'
import { payer, price, signBuyer, usePaidService } from '../support/payment-tests.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV1,
  paymentV2,
  signAuthorization,
} from '../support/x402-payment.ts'

const partnerName = 'partner of the command line'
const paid = usePaidService()
const folder = mkdtempSync(join(tmpdir(), 'ledger-pay-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const cli = (args: string, environment: Record<string, string> = {}) => {
  const { clock, url } = paid.service
  return runCommand(args.split(' '), { LEDGER_URL: url, ...environment }, { clock, fetch })
}

async function paymentFile(name: string, amountMicroUsdc: bigint): Promise<string> {
  const signed = await signAuthorization(payer, {
    to: paid.service.receiver,
    value: amountMicroUsdc,
  })
  const path = join(folder, name)
  writeFileSync(path, `${headerOf(paymentV2(signed))}\n`)
  return path
}

const clientOf = async (key?: string) =>
  createClient({
    baseUrl: paid.service.url,
    serviceName: 'agent-income-ledger',
    fetch,
    clock: paid.service.clock,
    random: systemRandom,
    ...(key === undefined ? {} : { signer: await evmSigner(Buffer.from(key.slice(2), 'hex')) }),
  })

test('a paid read without key and payment throws PaymentRequiredError with the terms', async () => {
  const client = await clientOf()
  const error = await client.call('getAlertFeed').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PaymentRequiredError)
  expect(error).toMatchObject({
    status: 402,
    code: 'payment_required',
    offer: {
      priceUsdc: '0.002',
      accepts: [{ network: 'base', maxAmountRequired: '2000', payTo: paid.service.receiver }],
    },
  })
})

test('the client reads with a payment, and a partner without one', async () => {
  const signed = await signAuthorization(payer, { to: paid.service.receiver, value: price })
  const client = await clientOf()
  const { count } = await client.call('getAlertFeed', {
    payment: headerOf(paymentV2(signed)),
  })
  expect(count).toBe(0)
  const key = chainKey(partnerName)
  const { address } = chainAccount(partnerName)
  const { id } = parseWallet(address)
  const wallet = { address, id, sign: () => Promise.reject(new Error('must not sign')) }
  await makePartner(paid.service, wallet, { handle: 'acme-agents' })
  const partner = await clientOf(key)
  expect((await partner.call('getAlertFeed')).count).toBe(0)
})

test('the command line shows the price and how to pay, and reads a payment from a file', async () => {
  const unpaid = await cli('alerts feed')
  expect([unpaid.code, unpaid.out]).toEqual([1, ''])
  expect(unpaid.err).toContain('402 payment_required')
  expect(unpaid.err).toContain(`The price is 0.002 USDC on base, paid to ${paid.service.receiver}`)
  expect(unpaid.err).toContain('--payment-file')
  expect(unpaid.err).toMatch(/^PAYMENT-REQUIRED: [A-Za-z0-9+/]+=*$/m)
  const path = await paymentFile('feed.payment', price)
  const result = await cli(`alerts feed --payment-file ${path} --json`)
  expect([result.code, result.err]).toEqual([0, ''])
  const again = await cli(`alerts feed --payment-file ${path}`)
  expect(again.code).toBe(1)
  expect(again.err).toContain('authorization_already_used')
  writeFileSync(path, 'not base64!')
  expect((await cli(`alerts feed --payment-file ${path}`)).code).toBe(2)
})

test('the command line pays for a read, up to the given maximum price', async () => {
  const key = join(folder, 'payer.key')
  writeFileSync(key, `${chainKey('payer')}\n`, { mode: 0o600 })
  const pay = `alerts feed --json --pay --key-file ${key}`
  expect(await cli(pay)).toMatchObject({ code: 2, out: '' })
  const refused = await cli(`${pay} --max-usdc 0.001999`)
  expect([refused.code, refused.out]).toEqual([2, ''])
  expect(refused.err).toContain('the price is 0.002 USDC')
  const before = await paid.chain.balanceOf(payer.address)
  const bought = await cli(`${pay} --max-usdc 0.002`)
  expect([bought.code, JSON.parse(bought.out)]).toMatchObject([0, { count: 0 }])
  expect(bought.err).toContain(`Paying 0.002 USDC to ${paid.service.receiver}`)
  expect(await paid.chain.balanceOf(payer.address)).toBe(before - price)
})

test('the code of the guide to payments buys reads, in each language', async () => {
  const guide = readFileSync(new URL('../../data/docs/paying.md', import.meta.url), 'utf8')
  const samples = samplesIn(guide.replaceAll('{{site_url}}', paid.service.url))
  const [curl, ts, py, js] = samples
  expect(samples.map(({ language }) => language)).toEqual(['sh', 'ts', 'py', 'js', 'sh'])
  const [unpaid, ...purchases] = (curl?.code ?? '')
    .split('\n')
    .filter((line) => line.startsWith('curl '))
    .map((code) => ({ language: 'sh', code }) as const)
  const before = await paid.chain.balanceOf(payer.address)
  for (const [sample, form, prints] of [
    [unpaid, paymentV2, / 402 Payment Required/],
    [purchases[0], paymentV2, /"count":0/],
    [purchases[1], paymentV1, /"count":0/],
    [ts, paymentV2, /^402 \[[^]*\n200 [^]*count: 0/],
    [py, paymentV2, /^402 \[[^]*\n200 [^]*'count': 0/],
  ] as const) {
    const signed = await signAuthorization(payer, { to: paid.service.receiver, value: price })
    writeFileSync(join(folder, 'payment.json'), JSON.stringify(form(signed)))
    const { code, out, err } = await runSample(sample ?? { language: 'sh', code: 'false' }, folder)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(prints)
  }
  const here = new URL('.', import.meta.url).pathname
  const pays = { PAYER_KEY: chainKey('payer') }
  const bought = await runSample(js ?? { language: 'js', code: '' }, here, pays)
  expect([bought.code, bought.err]).toEqual([0, ''])
  expect(bought.out).toContain('count: 0')
  expect(await paid.chain.balanceOf(payer.address)).toBe(before - 5n * price)
})

test('a subscription is paid for and cancelled on the command line', async () => {
  const environment = { LEDGER_KEY: chainKey(partnerName) }
  const unpaid = await cli('partner subscribe pro', environment)
  expect(unpaid.code).toBe(1)
  expect(unpaid.err).toContain('The price is 99 USDC')
  const path = await paymentFile('pro.payment', 99_000_000n)
  expect(unpaid.err).toContain('agent-income-ledger-payment-v1:acme-agents')
  const pay = `partner subscribe pro --payment-file ${path} --json`
  expect((await cli(pay, environment)).err).toContain('409 payment_buyer_unproven')
  const signature = await signBuyer('acme-agents')
  const result = await cli(`${pay} --payer-signature ${signature}`, environment)
  expect([result.code, result.err]).toEqual([0, ''])
  expect(JSON.parse(result.out)).toMatchObject({ tier: 'pro', change: { paid_usdc: 99 } })
  const ended = await cli('partner cancel --json', environment)
  expect(JSON.parse(ended.out)).toMatchObject({ tier: 'pro', next: { kind: 'end' } })
})
