import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createClient } from '../../src/client/client.ts'
import { PaymentRequiredError } from '../../src/client/errors.ts'
import { evmSigner } from '../../src/client/signers.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { makePartner } from '../support/partners.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  signAuthorization,
} from '../support/x402-payment.ts'

allowSlowTests('starts anvil')

let chain: UsdcChain
let service: PaidService
let folder: string
const payer = chainAccount('payer of the command line')
const partnerName = 'partner of the command line'

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, 1_000_000_000n)
  service = await startPaidService({ chain })
  folder = mkdtempSync(join(tmpdir(), 'ledger-pay-'))
})
afterAll(async () => {
  await service.stop()
  await chain.stop()
  rmSync(folder, { recursive: true, force: true })
})

const typed = (args: readonly string[], environment: Record<string, string> = {}) =>
  runCommand(args, { LEDGER_URL: service.url, ...environment }, { clock: service.clock, fetch })

async function paymentFile(name: string, amountMicroUsdc: bigint): Promise<string> {
  const signed = await signAuthorization(payer, { to: service.receiver, value: amountMicroUsdc })
  const path = join(folder, name)
  writeFileSync(path, `${headerOf(paymentV2(signed))}\n`)
  return path
}

const clientOf = (key?: string) => async () =>
  createClient({
    baseUrl: service.url,
    serviceName: 'agent-income-ledger',
    fetch,
    clock: service.clock,
    random: systemRandom,
    ...(key === undefined ? {} : { signer: await evmSigner(Buffer.from(key.slice(2), 'hex')) }),
  })

test('a paid read without key and payment throws PaymentRequiredError with the terms', async () => {
  const client = await clientOf()()
  const error = await client.call('getAlertFeed').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PaymentRequiredError)
  expect(error).toMatchObject({
    status: 402,
    code: 'payment_required',
    offer: {
      priceUsdc: '0.002',
      receiver: service.receiver,
      accepts: [{ network: 'base', maxAmountRequired: '2000', payTo: service.receiver }],
    },
  })
})

test('the client reads with a payment, and a partner without one', async () => {
  const signed = await signAuthorization(payer, { to: service.receiver, value: 2000n })
  const client = await clientOf()()
  const { count } = await client.call('getAlertFeed', {
    payment: headerOf(paymentV2(signed)),
  })
  expect(count).toBe(0)
  const key = chainKey(partnerName)
  const { address } = chainAccount(partnerName)
  const { id } = parseWallet(address)
  const wallet = { address, id, sign: () => Promise.reject(new Error('not asked to sign')) }
  await makePartner(service, wallet, { handle: 'acme-agents' })
  const partner = await clientOf(key)()
  expect((await partner.call('getAlertFeed')).count).toBe(0)
})

test('the command line shows the price and how to pay, and reads a payment from a file', async () => {
  const asked = await typed(['alerts', 'feed'])
  expect([asked.code, asked.out]).toEqual([1, ''])
  expect(asked.err).toContain('402 payment_required')
  expect(asked.err).toContain(`The price is 0.002 USDC on base, paid to ${service.receiver}`)
  expect(asked.err).toContain('--payment-file')
  expect(asked.err).toMatch(/^PAYMENT-REQUIRED: [A-Za-z0-9+/]+=*$/m)
  const path = await paymentFile('feed.payment', 2000n)
  const paid = await typed(['alerts', 'feed', '--payment-file', path, '--json'])
  expect([paid.code, paid.err]).toEqual([0, ''])
  const again = await typed(['alerts', 'feed', '--payment-file', path])
  expect(again.code).toBe(1)
  expect(again.err).toContain('authorization_already_used')
  writeFileSync(path, 'not base64!')
  expect((await typed(['alerts', 'feed', '--payment-file', path])).code).toBe(2)
})

test('a subscription is paid for and cancelled on the command line', async () => {
  const environment = { LEDGER_KEY: chainKey(partnerName) }
  const asked = await typed(['partner', 'subscribe', 'pro'], environment)
  expect(asked.code).toBe(1)
  expect(asked.err).toContain('The price is 99 USDC')
  const path = await paymentFile('pro.payment', 99_000_000n)
  const paid = await typed(
    ['partner', 'subscribe', 'pro', '--payment-file', path, '--json'],
    environment,
  )
  expect([paid.code, paid.err]).toEqual([0, ''])
  expect(JSON.parse(paid.out)).toMatchObject({ tier: 'pro', change: { paid_usdc: 99 } })
  const ended = await typed(['partner', 'cancel', '--json'], environment)
  expect(JSON.parse(ended.out)).toMatchObject({ tier: 'pro', next: { kind: 'end' } })
})
