import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { checkReceipts } from '../../builder/jobs/check-receipts.ts'
import { hourMs } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { insertReceipt } from '../../src/db/receipts/receipts.ts'
import type { NewReceipt } from '../../src/db/receipts/receipts.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { tempFolder } from '../db/temp-database.ts'
import { compile } from '../support/compile.ts'
import type { Compiled } from '../support/compile.ts'
import { handClock } from '../support/http-service.ts'
import { startReceiptChain } from '../support/receipt-chain.ts'
import type { ReceiptChain } from '../support/receipt-chain.ts'
import { pendingReceiptRow } from '../support/receipts.ts'
import { rpcError, startRpcProxy } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { evmWallet } from '../support/wallets.ts'

allowSlowTests('starts and kills processes')

const startMs = Date.UTC(2026, 10, 20)
const nowMs = startMs + 2 * hourMs
const perBlock = 12
const blocks = 20
const total = perBlock * blocks
const worker = parseWallet(evmWallet('worker').address)

let chain: ReceiptChain
const childFile = 'test/builder/receipts-child.ts'
let child: Compiled
const hashes: string[] = []

beforeAll(async () => {
  child = compile(childFile)
  chain = await startReceiptChain('arbitrum', startMs)
  while (hashes.length < total) {
    for (let at = 0; at < perBlock; at += 1) {
      const from = evmWallet(`payer ${hashes.length}`).address
      hashes.push(await chain.send({ from, to: worker.id, usdc: 2 }))
    }
    await chain.mine(1)
  }
  await chain.mine(20)
})
afterAll(async () => {
  await chain.stop()
  child.remove()
})

async function ledger(...receipts: readonly NewReceipt[]): Promise<OpenDatabase> {
  const rows = receipts.length > 0 ? receipts : hashes.map((txHash) => receiptOf(txHash))
  const database = await openDatabase({ url: join(tempFolder(), 'ledger.db') })
  await database.write(async (tx) => {
    for (const row of rows) await insertReceipt(tx, row)
  })
  return database
}

const receiptOf = (txHash: string, atMs = startMs) =>
  pendingReceiptRow(atMs, {
    id: `rcp_${txHash.slice(2)}`,
    chain: 'arbitrum',
    txHash,
    to: worker,
    amountMicroUsdc: 2_000_000,
  })

const checksOf = (database: OpenDatabase, rpcUrl: string, maxCalls?: number, atMs = nowMs) =>
  checkReceipts({
    database,
    clock: handClock(atMs),
    random: { bytes: (length) => randomBytes(length), unit: () => 0.5 },
    fetch,
    rpcUrls: { arbitrum: rpcUrl },
    signal: new AbortController().signal,
    ...(maxCalls === undefined ? {} : { maxCalls }),
  })

async function verified({ reader }: OpenDatabase): Promise<number> {
  const rows = await reader
    .selectFrom('receipts')
    .select('id')
    .where('onchain', '=', 'verified')
    .execute()
  return rows.length
}

/** Expects every receipt verified, with one reputation entry, and scores equal to the entries. */
async function expectAllDone(database: OpenDatabase): Promise<void> {
  expect(await verified(database)).toBe(total)
  const entries = await database.reader
    .selectFrom('reputation_ledger')
    .select(['kind', 'receipt_id', 'value_micro_points'])
    .execute()
  expect(new Set(entries.map(({ receipt_id }) => receipt_id)).size).toBe(total)
  expect(entries).toHaveLength(total)
  expect(entries.every((entry) => entry.value_micro_points === 60_000)).toBe(true)
  expect((await recomputeScores(database.reader)).differences).toEqual([])
}

/** Runs the job in a child process and kills it after the nth line of its output. */
async function killedAt(path: string, line: number): Promise<void> {
  const job = spawn(process.execPath, [child.scriptOf(childFile), path, chain.url, String(nowMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let lines = 0
  for await (const chunk of job.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    lines += chunk.split('\n').length - 1
    if (lines >= line) job.kill('SIGKILL')
  }
}

test('a killed run of receipt checks is completed by the next one, and no receipt earns twice', async () => {
  const database = await ledger()
  const after: number[] = []
  for (const line of [1, 2, 3, 4, 5]) {
    await killedAt(database.url, line)
    after.push(await verified(database))
    const found = await recomputeScores(database.reader)
    expect([found.entries, found.differences]).toEqual([after.at(-1), []])
  }
  expect(after.some((done) => done > 0 && done < total)).toBe(true)
  await checksOf(database, chain.url)
  await expectAllDone(database)
  await database.close()
})

test('receipts that share blocks need far fewer RPC calls than one each', async () => {
  const database = await ledger()
  const proxy = await startRpcProxy(chain.url)
  const { chains } = await checksOf(database, proxy.url)
  await proxy.stop()
  const [report] = chains
  expect(report).toMatchObject({ due: total, verified: total, rpc_calls: proxy.requests.length })
  expect(report?.rpc_requests).toBe(proxy.posts())
  const countOf = (method: string) => proxy.requests.filter((one) => one.method === method).length
  // One header per block and three chain heads.
  expect(countOf('eth_getBlockByNumber')).toBe(blocks + 3)
  expect(countOf('eth_getBlockReceipts')).toBeLessThanOrEqual(blocks)
  expect(proxy.requests.length).toBeLessThan(total / 2)
  expect(proxy.posts()).toBeLessThan(30)
  await expectAllDone(database)
  await database.close()
})

test('a node without eth_getBlockReceipts receives batches of single receipt requests', async () => {
  const database = await ledger()
  const proxy = await startRpcProxy(chain.url, {
    instead: (request) =>
      request.method === 'eth_getBlockReceipts'
        ? rpcError(request, -32_601, 'the method does not exist')
        : undefined,
  })
  await checksOf(database, proxy.url)
  await proxy.stop()
  const single = proxy.requests.filter(({ method }) => method === 'eth_getTransactionReceipt')
  expect(single).toHaveLength(total)
  expect(proxy.posts()).toBeLessThan(30)
  await expectAllDone(database)
  await database.close()
})

test('a run of receipt checks stops at its call budget, and later runs complete the work', async () => {
  const database = await ledger()
  const done: number[] = []
  for (let run = 0; run < 30 && done.at(-1) !== total; run += 1) {
    const { chains } = await checksOf(database, chain.url, 40)
    expect(chains[0]?.rpc_calls).toBeLessThanOrEqual(40)
    done.push(await verified(database))
  }
  expect(done.length).toBeGreaterThan(1)
  await expectAllDone(database)
  await database.close()
})

test('receipts of unknown transactions do not delay the receipts behind them', async () => {
  const unknown = Array.from({ length: 30 }, (_, at) => `0x${String(at).padStart(64, 'e')}`)
  const known = hashes.slice(0, 5)
  const all = [...unknown, ...known]
  const database = await ledger(...all.map((txHash, at) => receiptOf(txHash, startMs + at)))
  // The call budget of one run covers only some of the unknown receipts, which are due again in the next run.
  for (let hour = 0; hour < 4; hour += 1) {
    await checksOf(database, chain.url, 40, nowMs + hour * hourMs)
  }
  expect(await verified(database)).toBe(known.length)
  await database.close()
})
