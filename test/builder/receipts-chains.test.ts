import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { checkReceipts } from '../../builder/jobs/check-receipts.ts'
import { chains, receiptChains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { explorerUrl } from '../../src/core/chains.ts'
import { hourMs } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { receiptsOfTransaction } from '../../src/db/receipts/checks.ts'
import { insertReceipt } from '../../src/db/receipts/receipts.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import { quickRequests } from '../support/rail-context.ts'
import { startReceiptChain } from '../support/receipt-chain.ts'
import type { ReceiptChain } from '../support/receipt-chain.ts'
import { pendingReceiptRow } from '../support/receipts.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { evmWallet } from '../support/wallets.ts'

allowSlowTests('starts anvil')

const genesisMs = Date.UTC(2026, 10, 20)
const paidMs = genesisMs + hourMs
const worker = evmWallet('worker').address
const payer = evmWallet('payer').address
const payment = { from: payer, to: worker, usdc: 2 }

async function addReceipt(database: OpenDatabase, chain: string, txHash: string): Promise<void> {
  const row = pendingReceiptRow(paidMs, {
    id: `rcp_${chain.padEnd(64, '0')}`,
    chain,
    txHash,
    from: parseWallet(payer),
    to: parseWallet(worker),
    amountMicroUsdc: 2_000_000,
    content: { chain },
  })
  await database.write((tx) => insertReceipt(tx, row))
}

describe.each(receiptChains)('receipts on %s', (chain: EvmChainName) => {
  const others = receiptChains.filter((name) => name !== chain)
  let node: ReceiptChain
  beforeAll(async () => {
    node = await startReceiptChain(chain, genesisMs)
  })
  afterAll(() => node.stop())

  async function check(database: OpenDatabase) {
    const { chains } = await checkReceipts({
      ...quickRequests(),
      database,
      clock: handClock(paidMs + hourMs),
      rpcUrls: Object.fromEntries(receiptChains.map((name) => [name, node.url])),
      signal: new AbortController().signal,
    })
    return chains
  }

  test(`receipts on ${chain} are verified by USDC transfers on that chain, by its node alone`, async () => {
    const database = await tempDatabase()
    const hash = await node.pay(paidMs, payment)
    await node.mine(15)
    for (const name of receiptChains) await addReceipt(database, name, hash)
    const reports = new Map((await check(database)).map((one) => [one.chain, one]))
    expect(reports.get(chain)).toMatchObject({ state: 'checked', due: 1, verified: 1, errors: 0 })
    for (const other of others) {
      expect(reports.get(other)).toMatchObject({
        state: 'failed',
        verified: 0,
        reason: `${other} RPC: the node serves chain ${chains[chain].chainId}, not ${chains[other].chainId}`,
      })
    }
    const [found] = await receiptsOfTransaction(database.reader, chain, hash)
    expect(found).toMatchObject({ onchain: 'verified', check: { verdict: 'final', logIndex: 0 } })
    expect(explorerUrl(chain, hash)).toContain(`/tx/${hash}`)
  })

  test(`a receipt on ${chain} is rejected when its transfer is USDC of another chain`, async () => {
    const database = await tempDatabase()
    const [other = chain] = others
    const { address } = chains[other].usdc
    await node.rpc('anvil_setCode', [address, await node.rpc('eth_getCode', [node.usdc, 'latest'])])
    const hash = await node.pay(paidMs + hourMs / 2, { ...payment, token: address })
    await addReceipt(database, chain, hash)
    expect(await check(database)).toMatchObject([{ chain, failed: 1, verified: 0 }])
  })
})
