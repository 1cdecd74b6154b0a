/** Checks of payers 14 and 60 days after their receipts, with a node of a real chain. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { checkReceipts, receiptsResult } from '../../builder/jobs/check-receipts.ts'
import { verifyScore } from '../../src/client/verify-score.ts'
import { acceptedReceipt } from '../../src/contract/schemas/receipt.ts'
import { reputation } from '../../src/contract/schemas/reputation.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { handClock } from '../support/http-service.ts'
import { expectLogged } from '../support/logged.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { startReceiptChain } from '../support/receipt-chain.ts'
import type { ReceiptChain } from '../support/receipt-chain.ts'
import {
  issued,
  platformActions,
  receiptFacts,
  submission,
  workerSigned,
} from '../support/receipts.ts'
import { proxyDuringTest, rangeOf, rpcError, rpcResult } from '../support/rpc-proxy.ts'
import type { RpcRequest } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('starts anvil')

const startMs = Date.UTC(2026, 10, 2, 6)
/** Blocks behind the head of Arbitrum that may still be reorganised, and some more. */
const settled = 260
const platformKey = ed25519Key('platform')
const workerKey = ed25519Key('worker')
const worker = evmWallet('worker')
const payers = Array.from({ length: 10 }, (_, at) => evmWallet(`payer ${at}`))
const [payer = worker, other = worker] = payers
const reader = nearWallet('reader')

const service = useService({
  options: async () => ({
    clock: handClock(startMs),
    actions: await platformActions(platformKey),
  }),
})
let chain: ReceiptChain
let chainMs = 0
beforeAll(async () => {
  chain = await startReceiptChain('arbitrum', startMs - 40 * dayMs)
  await chain.mine(3)
})
// Whatever the checks of a test have done.
afterEach(() => expectLogged(service))
afterAll(() => chain.stop())
beforeEach(() => {
  chainMs = startMs - 2 * hourMs
  return chain.snapshot()
})

async function move(from: TestWallet, to: TestWallet, usdc: number): Promise<string> {
  chainMs += minuteMs
  return await chain.pay(chainMs, { from: from.address, to: to.address, usdc })
}

/** Moves the amount from wallet to wallet. */
async function moveOver(usdc: number, ...wallets: readonly TestWallet[]): Promise<void> {
  for (const [at, to] of wallets.slice(1).entries()) await move(wallets[at] ?? to, to, usdc)
}

async function post(receipt: object): Promise<string> {
  service.clock.advance(1)
  const body = await submission(worker, receipt, service.clock.now())
  return acceptedReceipt.parse((await service.postJson('/api/v1/receipts', body)).body).receipt_id
}

const factsOf = (from: TestWallet, usdc: number, changes: object) =>
  receiptFacts(worker, {
    from_wallet: from.address,
    amount_usdc: usdc,
    occurred_at: isoTime(startMs - hourMs),
    ...changes,
  })

/** Pays the worker on the chain, and submits its receipt. Returns the transaction. */
async function pay(from: TestWallet, usdc: number): Promise<string> {
  const hash = await move(from, worker, usdc)
  const payment = { chain: 'arbitrum', tx_hash: hash }
  await post(workerSigned(factsOf(from, usdc, payment), workerKey))
  return hash
}

async function runAfter(ms: number, hasNode = true, maxCalls = 20_000) {
  service.clock.advance(ms)
  const { database, random } = service.actions
  return await checkReceipts({
    database,
    clock: service.clock,
    random,
    fetch,
    rpcUrls: hasNode ? { arbitrum: chain.url } : {},
    signal: new AbortController().signal,
    retries: 0,
    maxCalls,
  })
}

/** Expects that every entry and the score can be recomputed. Returns the answer. */
async function readScore() {
  const database = service.actions.database
  expect((await recomputeScores(database.reader)).differences).toEqual([])
  const found = await database.reader.selectFrom('partners').select('handle').execute()
  if (found.length === 0) await makePartner(service, reader, { handle: 'reader' })
  const path = `/api/v1/reputation/${worker.address}?limit=200`
  const answer = reputation.strict().parse((await partnerClient(service, reader)('GET', path)).body)
  expect(verifyScore(answer).filter(({ good }) => !good)).toEqual([])
  return answer
}

const entriesOf = async () =>
  (await readScore()).entries
    .map(({ kind, delta, independence }) => `${kind} ${delta} ${independence}`)
    .toReversed()

/** A million goes round over ten payers; its scores at once, after 14 days and after 60 days. */
async function circleOver(...between: readonly TestWallet[]): Promise<readonly number[]> {
  for (const [at, from] of payers.entries()) {
    await pay(from, 1_000_000)
    await moveOver(1_000_000, worker, ...between, payers[(at + 1) % payers.length] ?? from)
  }
  await chain.mine(settled)
  const scores: number[] = []
  for (const days of [0, 15, 46]) {
    await runAfter(days * dayMs + hourMs)
    scores.push((await readScore()).rep_score)
  }
  return scores
}

describe('a circle of 1,000,000 USDC over ten payers', () => {
  test('a circle of payers over two wallets earns at most 50 points, and nothing after the first check', async () => {
    const scores = await circleOver(evmWallet('a'), evmWallet('b'))
    expect(scores).toEqual([50, 0, 0])
    const reversed = (await readScore()).entries.filter(({ kind }) => kind === 'receipt_reversed')
    expect(reversed).toHaveLength(10)
    expect(reversed[0]?.reason).toBe(
      'money of the worker, 100 % of what this payer paid, reached the payer over 2 other wallet(s)',
    )
  })

  test('a circle of payers over three wallets earns at most 50 points at any time', async () => {
    const scores = await circleOver(evmWallet('a'), evmWallet('b'), evmWallet('c'))
    expect(scores.every((score) => score > 0 && score <= 50)).toBe(true)
  })
})

describe('the check after 14 days', () => {
  test('the check after 14 days adds the rest with the age of the receipt, once', async () => {
    await pay(payer, 10)
    await chain.mine(settled)
    await runAfter(hourMs)
    expect(await entriesOf()).toEqual(['receipt_verified 0.3 0.1'])
    await runAfter(13 * dayMs)
    expect(await entriesOf()).toHaveLength(1)
    const run = await runAfter(2 * dayMs)
    expect(run.reviews).toEqual([{ chain: 'arbitrum', due: 1, adjusted: 1, reversed: 0 }])
    await runAfter(dayMs)
    expect(await entriesOf()).toEqual(['receipt_verified 0.3 0.1', 'adjustment 0.7 0.1'])
    const { entries } = await readScore()
    expect(entries[0]?.counts_from).toBe(entries[1]?.counts_from)
    expect(entries[0]?.reason).toBe('counts after a look-up of USDC transfers on arbitrum')
  })

  test('the check after 14 days counts payers with one source of funds as one payer', async () => {
    const source = evmWallet('source')
    for (const from of [payer, other]) {
      await move(source, from, 100)
      await pay(from, 100)
    }
    await chain.mine(settled)
    await runAfter(hourMs)
    await runAfter(15 * dayMs)
    const { entries } = await readScore()
    const adjusted = entries.filter(({ kind }) => kind === 'adjustment')
    expect(adjusted.map(({ payer_party }) => payer_party)).toEqual([source.id, source.id])
    expect(adjusted.map((entry) => entry.paid_before_usdc).toSorted((a, b) => a - b)).toEqual([
      0, 100,
    ])
    // 55 and 10 points.
    expect((await readScore()).entries.reduce((sum, { delta }) => sum + delta, 0)).toBeCloseTo(6.5)
  })

  test('the check after 14 days adds what a payer paid before it joined a party', async () => {
    await move(evmWallet('source'), payer, 100)
    await pay(payer, 100)
    await chain.mine(settled)
    await runAfter(hourMs)
    await runAfter(5 * dayMs)
    await post(issued(factsOf(payer, 100, {}), platformKey))
    await runAfter(10 * dayMs)
    await post(issued(factsOf(payer, 100, { summary: 'later' }), platformKey))
    const [last] = (await readScore()).entries
    expect([last?.payer_party, last?.paid_before_usdc]).toEqual([evmWallet('source').id, 200])
  })

  test('the check after 14 days keeps what a refund of less than half has left', async () => {
    await pay(payer, 10)
    await move(worker, payer, 4)
    await chain.mine(settled)
    await runAfter(hourMs)
    await runAfter(15 * dayMs)
    expect(await entriesOf()).toEqual(['receipt_verified 0.3 0.1', 'adjustment 0.7 0.1'])
  })

  test('the check after 14 days raises an independent payer, whose later receipts count more at once', async () => {
    const strangers = ['x', 'y', 'z'].map((name) => evmWallet(name))
    for (const to of strangers) {
      await post(issued(factsOf(payer, 5, { to_wallet: to.address }), platformKey))
    }
    await pay(payer, 10)
    await chain.mine(settled)
    await runAfter(hourMs)
    await runAfter(15 * dayMs)
    expect(await entriesOf()).toEqual([
      'receipt_verified 0.3 0.1',
      'adjustment -0.3 0.1',
      'adjustment 10 1',
    ])
    await post(issued(factsOf(payer, 20, {}), platformKey))
    expect((await readScore()).entries[0]).toMatchObject({ independence: 1, delta: 2.4 })
  })

  test('a payer that held USDC 30 but not 90 days before the receipt doubles its weight', async () => {
    await pay(payer, 10)
    await chain.mine(settled)
    await runAfter(hourMs)
    // Block 0 is older than every requested time.
    const instead = (request: RpcRequest) =>
      request.method === 'eth_call'
        ? rpcResult(request, `0x${(request.params[1] === '0x0' ? '0' : '1').padStart(64, '0')}`)
        : undefined
    const { url } = chain
    const proxy = await proxyDuringTest(url, { instead })
    chain = { ...chain, url: proxy.url }
    await runAfter(15 * dayMs).finally(() => (chain = { ...chain, url }))
    expect(proxy.requests.filter(({ method }) => method === 'eth_call')).toHaveLength(2)
    expect(await entriesOf()).toEqual(['receipt_verified 0.3 0.1', 'adjustment 1.7 0.2'])
  })

  test('a check says that it read no transfers where no node is set', async () => {
    await post(issued(factsOf(payer, 10, { chain: 'base' }), platformKey))
    const run = await runAfter(15 * dayMs, false)
    expect(run.reviews).toMatchObject([{ chain: 'base', due: 1, adjusted: 1 }])
    expect(receiptsResult(run).detail).toContain('no RPC is set for base (RPC_URL_BASE)')
    expect((await readScore()).entries[0]?.reason).toBe(
      'counts without a look-up of transfers: no RPC is set for base (RPC_URL_BASE)',
    )
  })

  test.each([
    ['a range', 1],
    ['a block', 0],
  ])(
    'a check waits three nights if %s has too many transfers, then counts without them',
    async (_, wide) => {
      await pay(payer, 10)
      await pay(other, 10)
      await chain.mine(settled)
      await runAfter(hourMs)
      const isRefused = (request: RpcRequest) => {
        const range = rangeOf(request)
        const isHot = JSON.stringify(request).includes(payer.id.slice(2))
        return isHot && range !== null && range.to - range.from >= wide
      }
      const refused = (request: RpcRequest) =>
        isRefused(request)
          ? rpcError(request, -32_005, 'query returned more than 10000 results')
          : undefined
      const { url } = chain
      const proxy = await proxyDuringTest(url, { instead: refused })
      chain = { ...chain, url: proxy.url }
      const runs = []
      for (const days of [15, 1, 1, 1, 1]) {
        const from = proxy.requests.length
        const { reviews } = await runAfter(days * dayMs, true, 60)
        runs.push([reviews, proxy.requests.length - from <= 3 * 60])
      }
      chain = { ...chain, url }
      const review = { chain: 'arbitrum', due: 1, adjusted: 0, reversed: 0 }
      expect(runs).toEqual([
        [[{ ...review, due: 2, adjusted: 1 }], true],
        [[review], true],
        [[review], true],
        [[{ ...review, adjusted: 1 }], true],
        [[], true],
      ])
      const { entries } = await readScore()
      expect(entries.map(({ kind, percent }) => `${kind} ${percent}`)).toEqual([
        'adjustment 100',
        'adjustment 100',
        'receipt_verified 30',
        'receipt_verified 30',
      ])
      expect(entries[0]?.reason).toBe(
        'counts without a look-up of transfers: payer or worker has more transfers on arbitrum than the ledger reads',
      )
    },
  )

  test('a check waits for a node that fails', async () => {
    await pay(payer, 10)
    await chain.mine(settled)
    await runAfter(hourMs)
    const { url } = chain
    chain = { ...chain, url: 'http://127.0.0.1:1/' }
    const run = await runAfter(15 * dayMs).finally(() => (chain = { ...chain, url }))
    expect(run.reviews).toMatchObject([{ due: 1, adjusted: 0 }])
    expect(run.reviews?.[0]?.reason).toContain('arbitrum RPC at 127.0.0.1')
    expect(await entriesOf()).toHaveLength(1)
    expect((await runAfter(hourMs)).reviews).toMatchObject([{ due: 1, adjusted: 1 }])
  })
})

test('money that comes back later is found after 60 days, and the next receipts of the pair wait', async () => {
  const hash = await pay(payer, 10)
  await chain.mine(settled)
  await runAfter(hourMs)
  await runAfter(15 * dayMs)
  chainMs = service.clock.now()
  await moveOver(10, worker, evmWallet('a'), payer)
  await chain.mine(settled)
  await runAfter(46 * dayMs)
  expect(await entriesOf()).toEqual([
    'receipt_verified 0.3 0.1',
    'adjustment 0.7 0.1',
    'receipt_reversed -1 0.1',
  ])
  const { rep_score: score, receipts_count: receipts } = await readScore()
  expect([score, receipts]).toEqual([0, 0])
  // A reversed receipt leaves its transaction to another one.
  const again = { chain: 'arbitrum', tx_hash: hash }
  await post(issued(factsOf(payer, 10, again), platformKey))
  const waiting = { evidence: 0.8, percent: 0, delta: 0, paid_before_usdc: 0 }
  expect((await readScore()).entries[0]).toMatchObject(waiting)
})
