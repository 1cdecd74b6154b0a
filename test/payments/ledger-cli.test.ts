import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { encodeFunctionData, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { commands } from '../../scripts/cli/commands.ts'
import { run } from '../../scripts/cli/run.ts'
import { openDatabase } from '../../src/db/open.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain, usdcAddress } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import { evmWallet } from '../support/wallets.ts'
import {
  chainAccount,
  headerOf,
  paymentV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'

allowSlowTests('starts anvil')

let chain: UsdcChain
let service: PaidService
let folder: string
let databasePath: string
const payer = chainAccount('payer of the ledger')
const alice = evmWallet('alice')

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-reconcile-'))
  databasePath = join(folder, 'ledger.db')
  chain = await startUsdcChain()
  await chain.mint(payer.address, 1_000_000_000n)
  service = await startPaidService({ chain, databasePath })
  await makePartner(service, alice, { handle: 'acme-agents' })
})
afterAll(async () => {
  await service.stop()
  await chain.stop()
  rmSync(folder, { recursive: true, force: true })
})

const admin = (args: readonly string[], changes: Record<string, string> = {}) =>
  operator(['payments', ...args], changes)

async function operator(args: readonly string[], changes: Record<string, string> = {}) {
  let [out, err] = ['', '']
  const code = await run(commands, ['admin', ...args], {
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: `sqlite:${databasePath}`,
      RPC_URL_BASE: chain.url,
      PAYMENT_RECEIVER: service.receiver,
      ...changes,
    },
    clock: service.clock,
    random: systemRandom,
    fetch,
    write: (text) => {
      out += text
    },
    warn: (text) => {
      err += text
    },
  })
  return { code, out, err }
}

const reconciled = z.object({
  settled_rows: z.number(),
  settled_usdc: z.string(),
  transfers: z.number(),
  received_usdc: z.string(),
  differences: z.array(
    z.object({ kind: z.string(), payer: z.string(), amount_usdc: z.string(), detail: z.string() }),
  ),
})

async function reconcile() {
  const { code, out, err } = await admin(['reconcile', '--json'])
  expect(err).toBe('')
  return { code, ...reconciled.parse(JSON.parse(out)) }
}

async function payFor(query: string) {
  const signed = await signAuthorization(payer, { to: service.receiver, value: 2000n })
  const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) }
  const answer = await fetch(`${service.url}/api/v1/alerts/feed${query}`, { headers })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
  return signed
}

test('reconcile finds no difference without payments', async () => {
  expect(await reconcile()).toMatchObject({ code: 0, settled_rows: 0, differences: [] })
})

test('payments for reads and a subscription are exported and match the chain', async () => {
  await payFor('')
  await payFor('?rail=x402')
  const signed = await signAuthorization(payer, { to: service.receiver, value: 29_000_000n })
  const header = { 'X-PAYMENT': headerOf(paymentV2(signed)) }
  const subscribed = await partnerClient(service, alice)(
    'POST',
    '/api/v1/partners/subscription',
    { tier: 'starter' },
    header,
  )
  expect(subscribed.status).toBe(200)
  expect(await reconcile()).toMatchObject({
    code: 0,
    settled_rows: 3,
    settled_usdc: '29.004',
    transfers: 3,
    received_usdc: '29.004',
    differences: [],
  })
  expect((await admin(['reconcile'])).out).toContain('Rows and chain agree.')
  const { code, out } = await admin(['export', '--csv'])
  expect(code).toBe(0)
  const lines = out.trimEnd().split('\r\n')
  expect(lines[0]).toBe('time,kind,payer,amount_usdc,resource,state,tx_hash,block,handle')
  expect(lines).toHaveLength(4)
  expect(lines[2]).toContain(
    `,read,${payer.address.toLowerCase()},0.002,https://ledger.test/api/v1/alerts/feed?rail=x402,settled,0x`,
  )
  expect(lines[3]).toMatch(/,subscription,.*,29,.*,settled,0x[0-9a-f]{64},\d+,acme-agents$/)
})

test('a tier granted by the operator postpones paid time', async () => {
  const days = ['--days', '7', '--reason', 'gift', '--json']
  const given = await operator(['partners', 'set-tier', 'acme-agents', 'team', ...days])
  expect([given.code, JSON.parse(given.out)]).toMatchObject([0, { tier: 'team', status: 'active' }])
  const { body } = await partnerClient(service, alice)('GET', '/api/v1/partners/me')
  expect(body).toMatchObject({
    tier: 'team',
    periods: [{ tier: 'team' }, { tier: 'starter' }],
    next: { kind: 'tier', tier: 'starter' },
  })
})

test('reconcile reports transfers without a row, by authorization or not', async () => {
  const stray = await signAuthorization(payer, { to: service.receiver, value: 5000n })
  await chain.call(settlementCall(stray))
  const abi = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])
  const stranger = chainAccount('stranger of the ledger')
  await chain.mint(stranger.address, 7000n)
  await chain.fund(stranger.address)
  await chain.rpc('anvil_impersonateAccount', [stranger.address])
  const data = encodeFunctionData({
    abi,
    functionName: 'transfer',
    args: [service.receiver, 7000n],
  })
  const call = { from: stranger.address, to: usdcAddress, data, maxPriorityFeePerGas: '0x1' }
  await chain.rpc('eth_sendTransaction', [call])
  const { code, differences } = await reconcile()
  expect(code).toBe(1)
  expect(differences).toMatchObject([
    { kind: 'unexplained', payer: payer.address.toLowerCase(), amount_usdc: '0.005' },
    {
      kind: 'unexplained',
      payer: stranger.address.toLowerCase(),
      amount_usdc: '0.007',
      detail: 'not by an authorization',
    },
  ])
  const text = await admin(['reconcile'])
  expect([text.code, text.out.includes('unexplained')]).toEqual([1, true])
})

test('reconcile reports rows that differ from the chain', async () => {
  await service.stop()
  const before = (await reconcile()).differences.length
  const database = await openDatabase({ url: databasePath })
  const rows = await database.reader.selectFrom('payments').select('id').orderBy('seq').execute()
  const [first, second, third] = rows.map(({ id }) => id)
  await database.write(async (tx) => {
    const change = (id: string | undefined) => tx.updateTable('payments').where('id', '=', id ?? '')
    await change(first).set({ amount_micro_usdc: 2001 }).execute()
    await change(second)
      .set({ nonce: `0x${'ab'.repeat(32)}` })
      .execute()
    await change(third)
      .set({ state: 'submitted', settled_at: null, finality: null, delivered_at: null })
      .execute()
  })
  await database.close()
  const { code, differences } = await reconcile()
  expect(code).toBe(1)
  expect(differences).toHaveLength(before + 4)
  expect(differences.map(({ kind, detail }) => [kind, detail])).toEqual(
    expect.arrayContaining([
      ['row_differs', 'the row has 0.002001 USDC'],
      ['missing', 'the chain has no such transfer'],
      ['row_not_settled', 'the row is submitted'],
    ]),
  )
})

test('reconcile fails without a chain and shows only the host of its URL', async () => {
  const away = await admin(['reconcile'], { RPC_URL_BASE: 'http://127.0.0.1:9/secret-key' })
  expect(away.code).toBe(3)
  expect(away.err).not.toContain('secret-key')
})
