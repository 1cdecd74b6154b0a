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
import { databaseAt } from '../support/new-database.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { payer, signBuyer, usePaidService } from '../support/payment-tests.ts'
import { usdcAddress } from '../support/usdc-chain.ts'
import { evmWallet } from '../support/wallets.ts'
import {
  chainAccount,
  headerOf,
  paymentV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'

const folder = mkdtempSync(join(tmpdir(), 'ledger-reconcile-'))
const databasePath = join(folder, 'ledger.db')
const paid = usePaidService({ databasePath })
const alice = evmWallet('alice')

beforeAll(async () => {
  await makePartner(paid.service, alice, { handle: 'acme-agents' })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs `admin`. `changes` override the environment. */
async function admin(args: string, changes: Record<string, string> = {}) {
  let [out, err] = ['', '']
  const code = await run(commands, ['admin', ...args.split(' ')], {
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: await databaseAt(databasePath),
      RPC_URL_BASE: paid.chain.url,
      PAYMENT_RECEIVER: paid.service.receiver,
      ...changes,
    },
    clock: paid.service.clock,
    random: systemRandom,
    fetch,
    write: (text) => (out += text),
    warn: (text) => (err += text),
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
  const { code, out, err } = await admin('payments reconcile --json')
  expect(err).toBe('')
  return { code, ...reconciled.parse(JSON.parse(out)) }
}

async function payFor(query: string) {
  const signed = await signAuthorization(payer, { to: paid.service.receiver, value: 2000n })
  const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) }
  const answer = await fetch(`${paid.service.url}/api/v1/alerts/feed${query}`, { headers })
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
  const signed = await signAuthorization(payer, { to: paid.service.receiver, value: 29_000_000n })
  const named = await signBuyer('acme-agents')
  const header = { 'X-PAYMENT': headerOf(paymentV2(signed)), 'X-Payer-Signature': named }
  const subscribed = await partnerClient(paid.service, alice)(
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
  expect((await admin('payments reconcile')).out).toContain('Rows and chain agree.')
  const { code, out } = await admin('payments export --csv')
  expect(code).toBe(0)
  const lines = out.trimEnd().split('\r\n')
  expect(lines[0]).toBe('time,kind,payer,amount_usdc,resource,state,tx_hash,block,handle')
  expect(lines).toHaveLength(4)
  expect(lines[2]).toContain(
    `,read,${payer.address.toLowerCase()},0.002,https://ledger.test/api/v1/alerts/feed?rail=x402,settled,0x`,
  )
  expect(lines[3]).toMatch(/,subscription,.*,29,.*,settled,0x[0-9a-f]{64},\d+,acme-agents$/)
})

test('a tier granted by the operator starts at once', async () => {
  const granted = await admin('partners set-tier acme-agents team --days 7 --reason gift --json')
  expect([granted.code, JSON.parse(granted.out)]).toMatchObject([
    0,
    { tier: 'team', status: 'active' },
  ])
  const { body } = await partnerClient(paid.service, alice)('GET', '/api/v1/partners/me')
  expect(body).toMatchObject({ tier: 'team', next: { kind: 'payment', tier: 'team' } })
})

test('reconcile reports transfers without a row, by authorization or not', async () => {
  const stray = await signAuthorization(payer, { to: paid.service.receiver, value: 5000n })
  await paid.chain.call(settlementCall(stray))
  const abi = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])
  const stranger = chainAccount('stranger of the ledger')
  await paid.chain.mint(stranger.address, 7000n)
  await paid.chain.fund(stranger.address)
  await paid.chain.rpc('anvil_impersonateAccount', [stranger.address])
  const data = encodeFunctionData({
    abi,
    functionName: 'transfer',
    args: [paid.service.receiver, 7000n],
  })
  const call = { from: stranger.address, to: usdcAddress, data, maxPriorityFeePerGas: '0x1' }
  await paid.chain.rpc('eth_sendTransaction', [call])
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
  const text = await admin('payments reconcile')
  expect([text.code, text.out.includes('unexplained')]).toEqual([1, true])
})

test('reconcile reports rows that differ from the chain', async () => {
  await paid.service.stop()
  const before = (await reconcile()).differences.length
  const database = await openDatabase({ url: await databaseAt(databasePath) })
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
  const unreachable = await admin('payments reconcile', {
    RPC_URL_BASE: 'http://127.0.0.1:9/secret-key',
  })
  expect(unreachable.code).toBe(3)
  expect(unreachable.err).not.toContain('secret-key')
})
