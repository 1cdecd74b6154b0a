import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { decodeFunctionData } from 'viem'
import type { Hex } from 'viem'
import { afterEach, expect, test } from 'vitest'

import { commands } from '../../scripts/cli/commands.ts'
import { run } from '../../scripts/cli/run.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import {
  copyPostgresDatabase,
  databaseAt,
  newDatabaseIn,
  onPostgres,
} from '../support/new-database.ts'
import { startPaidService } from '../support/paid-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { feed, payer, signBuyer, usePaymentTests } from '../support/payment-tests.ts'
import { usdcAbi } from '../support/usdc-chain.ts'
import { evmWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'
import { headerOf, paymentV2 } from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

let folder = ''
const databasePath = () => join(folder, 'ledger.db')
const {
  tests: t,
  buy,
  sign,
  rows,
  charged,
} = usePaymentTests(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-restored-'))
  return await start()
})
const start = () =>
  startPaidService({ chain: t.chain, rpcUrl: t.proxy.url, databasePath: databasePath() })
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const alice = evmWallet('alice')
const mallory = evmWallet('mallory')
const payersOwn: TestWallet = {
  address: payer.address,
  id: payer.address.toLowerCase(),
  sign: (message) => payer.signMessage({ message }),
}

async function admin(...args: readonly string[]) {
  let text = ''
  const code = await run(commands, ['admin', ...args], {
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: await databaseAt(databasePath()),
      RPC_URL_BASE: t.chain.url,
      PAYMENT_RECEIVER: t.paid.receiver,
    },
    clock: t.paid.clock,
    random: systemRandom,
    fetch,
    write: (part) => (text += part),
    warn: (part) => (text += part),
  })
  return { code, text }
}

async function subscribe(wallet: TestWallet, signed: SignedAuthorization, named?: string) {
  const header = {
    'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)),
    ...(named === undefined ? {} : { 'X-Payer-Signature': named }),
  }
  const post = partnerClient(t.paid, wallet)
  const { status, body } = await post(
    'POST',
    '/api/v1/partners/subscription',
    { tier: 'pro' },
    header,
  )
  return [status, body['code'] ?? body['tier']]
}

const unproven = [409, 'payment_buyer_unproven']
const used = [402, 'authorization_already_used']

async function backedUpFile(): Promise<() => Promise<void>> {
  const backup = join(folder, 'backup.db')
  expect((await admin('backup', backup)).code).toBe(0)
  return async () => expect(await admin('restore', backup)).toMatchObject({ code: 0 })
}

/** Copies the database in place of PostgreSQL's own backup. */
async function copiedDatabase(): Promise<() => Promise<void>> {
  const [url, backup] = [await databaseAt(databasePath()), await newDatabaseIn(folder)]
  await t.paid.stop()
  await copyPostgresDatabase(url, backup)
  t.paid = await start()
  return () => copyPostgresDatabase(backup, url)
}

/** Restores a backup from before the purchase. */
async function restoreBefore(buys: () => Promise<void>): Promise<void> {
  const restore = onPostgres ? await copiedDatabase() : await backedUpFile()
  await buys()
  await t.paid.stop()
  await restore()
  t.paid = await start()
  t.paid.clock.advance(11 * 60_000)
  expect(await rows()).toEqual([])
}

/** Reads the payment from the chain, as anyone can. */
async function copyFromCalldata(): Promise<SignedAuthorization> {
  const [{ transaction } = { transaction: '0x' as Hex }] = await t.chain.usedAuthorizations()
  const { input } = await t.chain.client.getTransaction({ hash: transaction })
  const call = decodeFunctionData({ abi: usdcAbi, data: input })
  if (call.functionName !== 'transferWithAuthorization') throw new Error('another call')
  const [from, to, value, validAfter, validBefore, nonce, signature] = call.args
  return { authorization: { from, to, value, validAfter, validBefore, nonce }, signature }
}

const signLong = async (value: bigint) =>
  await sign({ value, validBefore: BigInt(Math.floor(t.paid.clock.now() / 1000) + 3000) })

test("after a restore, a stranger's copy of a payment buys nothing, and the operator assigns its buyer", async () => {
  await makePartner(t.paid, alice, { handle: 'acme-agents' })
  await makePartner(t.paid, mallory, { handle: 'mallory' })
  const signed = await signLong(99_000_000n)
  const named = await signBuyer('acme-agents')
  await restoreBefore(async () =>
    expect(await subscribe(alice, signed, named)).toEqual([200, 'pro']),
  )
  const copy = await copyFromCalldata()
  expect(await subscribe(mallory, copy)).toEqual(unproven)
  expect(await subscribe(mallory, copy)).toEqual(unproven)
  expect(await subscribe(alice, signed)).toEqual(unproven)
  t.paid.clock.advance(3_600_000)
  expect(await subscribe(mallory, copy)).toEqual(unproven)
  const [held] = await rows()
  expect((await admin('payments', 'reconcile')).text).toContain('the row is reconcile')
  const assign = ['payments', 'assign', held?.id ?? '', 'acme-agents', '--reason', 'signed message']
  expect(await admin(...assign)).toMatchObject({ code: 0 })
  expect(await subscribe(mallory, copy)).toEqual(unproven)
  t.rules = { instead: () => ({ body: '', lost: true }) }
  expect(await subscribe(alice, signed)).toEqual([503, 'payment_unavailable'])
  t.rules = {}
  expect(await subscribe(mallory, copy)).toEqual(used)
  expect(await subscribe(alice, signed)).toEqual([200, 'pro'])
  expect(await subscribe(mallory, copy)).toEqual(used)
  expect((await admin('payments', 'reconcile')).code).toBe(0)
})

test("after a restore, a payment still buys for the partner that signs with the payer's key", async () => {
  await makePartner(t.paid, payersOwn, { handle: 'acme-agents' })
  await makePartner(t.paid, mallory, { handle: 'mallory' })
  const signed = await signLong(99_000_000n)
  await restoreBefore(async () => expect(await subscribe(payersOwn, signed)).toEqual([200, 'pro']))
  expect(await subscribe(mallory, await copyFromCalldata())).toEqual(unproven)
  expect(await subscribe(payersOwn, signed)).toEqual([200, 'pro'])
})

test("after a restore, a stranger's copy of a payment buys no read", async () => {
  const signed = await signLong(2000n)
  await restoreBefore(async () => expect((await buy(signed)).status).toBe(200))
  const copy = await copyFromCalldata()
  const { status, code, headers } = await buy(copy)
  expect([status, code, headers.get('payment-required')]).toEqual([...unproven, null])
  const show = (named: string) => buy(copy, feed, { 'X-Payer-Signature': named })
  const { nonce } = signed.authorization
  expect((await show(await mallory.sign(`agent-income-ledger-payment-v1:${nonce}`))).status).toBe(
    409,
  )
  expect((await show(await signBuyer(`0x${'12'.repeat(32)}`))).status).toBe(409)
  expect((await show('0x1')).status).toBe(400)
  expect((await show(await signBuyer(nonce))).status).toBe(200)
  expect((await show(await signBuyer(nonce))).code).toBe('authorization_already_used')
})

test("a stranger who sends another partner's payment first buys nothing, and nobody is charged", async () => {
  await makePartner(t.paid, alice, { handle: 'acme-agents' })
  await makePartner(t.paid, mallory, { handle: 'mallory' })
  const signed = await signLong(99_000_000n)
  const named = await signBuyer('acme-agents')
  const forged = await mallory.sign('agent-income-ledger-payment-v1:mallory')
  for (const signature of [undefined, named, forged]) {
    expect(await subscribe(mallory, signed, signature)).toEqual(unproven)
  }
  expect(await subscribe(alice, signed)).toEqual(unproven)
  expect([await charged(), await rows()]).toEqual([0n, []])
  expect(await subscribe(alice, signed, named)).toEqual([200, 'pro'])
  expect(await subscribe(mallory, signed)).toEqual(used)
})

test('a contract wallet names the partner that it pays for (EIP-1271)', async () => {
  await makePartner(t.paid, alice, { handle: 'acme-agents' })
  const from = '0x00000000000000000000000000000000000c0de1'
  await t.chain.mint(from, 99_000_000n)
  await t.chain.rpc('anvil_setCode', [from, '0x631626ba7e60e01b60005260206000f3'])
  const signed = { ...(await sign({ value: 99_000_000n, from })), signature: '0x1234' as const }
  expect(await subscribe(alice, signed)).toEqual(unproven)
  expect(await subscribe(alice, signed, '0x5678')).toEqual([200, 'pro'])
})

test('after a restore, a payment buys for the partner that the payer names', async () => {
  await makePartner(t.paid, alice, { handle: 'acme-agents' })
  const signed = await signLong(99_000_000n)
  const named = await signBuyer('acme-agents')
  await restoreBefore(async () =>
    expect(await subscribe(alice, signed, named)).toEqual([200, 'pro']),
  )
  expect(await subscribe(alice, signed)).toEqual(unproven)
  expect(await subscribe(alice, signed, named)).toEqual([200, 'pro'])
  expect(await charged()).toBe(99_000_000n)
})
