import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { createReceiptChecks, receiptsResult } from '../../builder/jobs/check-receipts.ts'
import type { ReceiptCheckDeps } from '../../builder/jobs/check-receipts.ts'
import { renderBody } from '../../builder/publish/document.ts'
import { siteOf } from '../../builder/site/site-documents.ts'
import { lastReceiptRun } from '../../builder/world/receipt-run.ts'
import type { ChainReport } from '../../builder/world/receipt-run.ts'
import { loadReference } from '../../src/actions/reference.ts'
import { acceptedReceipt, receiptDetail } from '../../src/contract/schemas/receipt.ts'
import { dayMs, hourMs, minuteMs } from '../../src/core/time.ts'
import { eventsSince } from '../../src/db/events.ts'
import { listOpenFlags } from '../../src/db/flags.ts'
import { topStandings } from '../../src/db/leaderboard.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { fullWorld } from '../site/worlds.ts'
import { handClock, publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'
import { fakeToken, refusing, startReceiptChain } from '../support/receipt-chain.ts'
import type { Payment, ReceiptChain } from '../support/receipt-chain.ts'
import {
  issued,
  receiptFacts,
  submission,
  withPlatform,
  workerSigned,
} from '../support/receipts.ts'
import { rpcError, startRpcProxy } from '../support/rpc-proxy.ts'
import type { ProxyRules } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { ed25519Key, evmWallet, solanaWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('starts anvil')

const genesisMs = Date.UTC(2026, 10, 20)
const startMs = Date.UTC(2026, 10, 21, 6)
/** When the payments of these tests were made. */
const paidMs = startMs - 2 * hourMs
const platformKey = ed25519Key('platform')
const workerKey = ed25519Key('worker')
const alice = evmWallet('alice')
const bob = evmWallet('bob')
const payer = evmWallet('payer')

let published: PublicDir
let chain: ReceiptChain
let fresh: unknown
let service: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
  chain = await startReceiptChain('arbitrum', genesisMs)
  await chain.mine(3)
  fresh = await chain.rpc('evm_snapshot', [])
})
afterAll(async () => {
  await chain.stop()
  await published.remove()
})

beforeEach(async () => {
  await chain.rpc('evm_revert', [fresh])
  fresh = await chain.rpc('evm_snapshot', [])
  const reference = withPlatform(await loadReference('data'), platformKey)
  const clock = handClock(startMs)
  service = await startService(published.dir, { clock, actions: { reference: () => reference } })
  return () => service.stop()
})

const anyObject = z.record(z.string(), z.unknown())

async function post(receipt: object, submitter: TestWallet) {
  service.clock.advance(1)
  const body = await submission(submitter, receipt, service.clock.now())
  const answer = await fetch(`${service.url}/api/v1/receipts`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const json: unknown = await answer.json()
  if (!answer.ok) throw new Error(JSON.stringify(json))
  return acceptedReceipt.parse(json).receipt_id
}

const payment = (changes: Partial<Payment> = {}): Payment => ({
  from: payer.address,
  to: alice.address,
  usdc: 10,
  ...changes,
})

const facts = (txHash: string, changes: object = {}) =>
  receiptFacts(alice, {
    chain: 'arbitrum',
    tx_hash: txHash,
    from_wallet: payer.address,
    occurred_at: new Date(paidMs).toISOString(),
    ...changes,
  })

/** The facts without those that are undefined. */
const stated = (txHash: string, changes: object) =>
  anyObject.parse(JSON.parse(JSON.stringify(facts(txHash, changes))))

/** A receipt that the worker alone has signed. */
const sendSigned = (txHash: string, changes: object = {}, worker: TestWallet = alice) =>
  post(workerSigned(facts(txHash, { to_wallet: worker.address, ...changes }), workerKey), worker)

const sendIssued = (txHash: string, changes: object = {}) =>
  post(issued(facts(txHash, changes), platformKey), alice)

async function detailOf(id: string) {
  const answer = await fetch(`${service.url}/api/v1/receipts/${id}`)
  return receiptDetail.strict().parse(await answer.json())
}

/** One run an hour after the last. */
async function run(changes: Partial<ReceiptCheckDeps> = {}) {
  service.clock.advance(hourMs)
  const { database, random } = service.actions
  const checks = createReceiptChecks({
    database,
    clock: service.clock,
    random,
    fetch,
    rpcUrls: { arbitrum: chain.url },
    signal: new AbortController().signal,
    retries: 0,
    ...changes,
  })
  return await checks.run()
}

async function runOf(changes: Partial<ReceiptCheckDeps> = {}): Promise<ChainReport> {
  const { chains } = await run(changes)
  const report = chains.find((one) => one.chain === 'arbitrum')
  if (report === undefined) throw new Error('nothing was due on arbitrum')
  return report
}

/** Runs against the node as the rules distort it. */
async function runBehind(rules: ProxyRules): Promise<ChainReport> {
  const proxy = await startRpcProxy(chain.url, rules)
  try {
    return await runOf({ rpcUrls: { arbitrum: proxy.url } })
  } finally {
    await proxy.stop()
  }
}

async function entriesOf(wallet: TestWallet) {
  const { reader } = service.actions.database
  const entries = await reader
    .selectFrom('reputation_ledger')
    .select(['kind', 'value_micro_usdc'])
    .where('wallet', '=', wallet.id)
    .orderBy('seq')
    .execute()
  return entries.map(({ kind, value_micro_usdc: value }) => `${kind} ${value / 1e6}`)
}

const openFlags = async () => await listOpenFlags(service.actions.database.reader)

/** What the writes kept is what the entries come to, to the last bit. */
async function expectScoresHold(): Promise<void> {
  const { differences } = await recomputeScores(service.actions.database.reader)
  expect(differences).toEqual([])
}

describe('a payment before finality', () => {
  test('becomes soft, provisional and verified, and earns only when verified', async () => {
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    expect(await detailOf(id)).toMatchObject({ verification: 'pending', rep_delta: 0 })
    expect(await runOf()).toMatchObject({ due: 1, checked: 1, waiting: 1, verified: 0 })
    expect(await detailOf(id)).toMatchObject({
      verification: 'pending',
      onchain: { verdict: 'soft', log_index: 0 },
    })
    await chain.mine(5)
    expect(await runOf()).toMatchObject({ provisional: 1, verified: 0 })
    const provisional = await detailOf(id)
    expect(provisional.onchain?.verdict).toBe('safe')
    expect(provisional).toMatchObject({ onchain_verified: false, rep_delta: 0 })
    await chain.mine(10)
    expect(await runOf()).toMatchObject({ verified: 1, failed: 0, errors: 0 })
    const block = await chain.rpc('eth_getBlockByNumber', ['0x4', false])
    const { hash } = z.object({ hash: z.string() }).parse(block)
    const verified = await detailOf(id)
    expect(verified).toMatchObject({
      verification: 'verified',
      onchain_verified: true,
      rep_delta: 10,
      onchain: {
        verdict: 'final',
        block_number: 4,
        block_hash: hash,
        block_at: new Date(paidMs).toISOString(),
        log_index: 0,
        since: new Date(service.clock.now()).toISOString(),
      },
    })
    expect(verified.verification_reason).toBeUndefined()
    expect(await entriesOf(alice)).toEqual(['receipt_verified 10'])
    expect(await topStandings(service.actions.database.reader, 5)).toMatchObject([
      { wallet: alice.id, receipts: 1, lifetimeMicroUsdc: 10_000_000 },
    ])
    await expectScoresHold()
  })

  test('is checked once more a day after finality, and never again', async () => {
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    await chain.mine(15)
    await runOf()
    expect((await run()).chains).toEqual([])
    service.clock.advance(dayMs)
    expect(await runOf()).toMatchObject({ due: 1, checked: 1, verified: 0, rpc_calls: 5 })
    service.clock.advance(30 * dayMs)
    expect((await run()).chains).toEqual([])
    expect(await detailOf(id)).toMatchObject({ verification: 'verified', rep_delta: 10 })
  })

  test('raises what a platform signature had earned, and needs at least the stated amount', async () => {
    const id = await sendIssued(await chain.pay(paidMs, payment({ usdc: 12.5 })))
    expect(await detailOf(id)).toMatchObject({ verification: 'verified', rep_delta: 8 })
    await chain.mine(15)
    await runOf()
    expect(await detailOf(id)).toMatchObject({
      verification: 'verified',
      onchain_verified: true,
      rep_delta: 10,
    })
    expect(await entriesOf(alice)).toEqual(['receipt_verified 8', 'adjustment 2'])
    await expectScoresHold()
  })

  test('in the mempool is pending, and verified once mined', async () => {
    const id = await sendSigned(await chain.send(payment()))
    expect(await runOf()).toMatchObject({ waiting: 1 })
    expect((await detailOf(id)).onchain?.verdict).toBe('pending')
    await chain.blockAt(paidMs)
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ verified: 1 })
    expect(await detailOf(id)).toMatchObject({ verification: 'verified' })
  })

  test('without a stated payer counts as paid by the wallet on the chain', async () => {
    const hash = await chain.pay(paidMs, payment())
    const id = await post(workerSigned(stated(hash, { from_wallet: undefined }), workerKey), alice)
    await sendSigned(await chain.pay(paidMs + minuteMs, payment()))
    await chain.mine(15)
    await runOf()
    expect(await detailOf(id)).toMatchObject({ rep_delta: 10 })
    expect(await entriesOf(alice)).toEqual(['receipt_verified 10', 'receipt_verified 5'])
  })
})

describe('a transaction that does not support its receipt', () => {
  const refusals: Readonly<
    Record<string, { paid?: Partial<Payment>; changes?: object; reason: RegExp }>
  > = {
    'less than the stated amount': { paid: { usdc: 9.999999 }, reason: /less USDC/ },
    'of nothing, which anyone can log': {
      paid: { usdc: 0 },
      changes: { amount_usdc: 0 },
      reason: /moves no USDC$/,
    },
    'to another wallet': { paid: { to: bob.address }, reason: /no USDC to 0x/ },
    'from another payer': {
      paid: { from: bob.address },
      reason: /a wallet other than from_wallet/,
    },
    'of another token with the same event': { paid: { token: fakeToken }, reason: /moves no USDC/ },
    'an approval in place of a transfer': { paid: { event: 'Approval' }, reason: /moves no USDC/ },
    'more than a day before occurred_at': {
      changes: { occurred_at: new Date(startMs).toISOString() },
      paid: {},
      reason: /more than 24 hours from occurred_at/,
    },
    'from the worker to itself, the payer unstated': {
      paid: { from: alice.address },
      changes: { from_wallet: undefined },
      reason: /from the worker to itself/,
    },
  }
  for (const [name, { paid = {}, changes = {}, reason }] of Object.entries(refusals)) {
    test(`is refused at once: ${name}`, async () => {
      const isOld = name.startsWith('more than a day')
      const hash = await chain.pay(isOld ? startMs - 25 * hourMs : paidMs, payment(paid))
      const id = await post(workerSigned(stated(hash, changes), workerKey), alice)
      expect(await runOf()).toMatchObject({ failed: 1, reversed: 0 })
      const found = await detailOf(id)
      expect(found).toMatchObject({
        verification: 'rejected',
        onchain_verified: false,
        onchain: { verdict: 'mismatch' },
        rep_delta: 0,
      })
      expect(found.verification_reason).toMatch(reason)
      expect(await entriesOf(alice)).toEqual([])
      expect(await openFlags()).toEqual([])
      // Its block may still be reorganised; once that is final, the refusal is.
      await chain.mine(15)
      expect(await runOf()).toMatchObject({ due: 1, checked: 1, failed: 0, rpc_calls: 5 })
      expect(await detailOf(id)).toMatchObject({ verification: 'rejected' })
      service.clock.advance(7 * dayMs)
      expect((await run()).chains).toEqual([])
    })
  }

  test('is rejected when it was reverted, and earnings by a platform signature are reversed', async () => {
    const hash = await chain.sendReverting(payment())
    await chain.blockAt(paidMs)
    const id = await sendIssued(hash)
    expect(await runOf()).toMatchObject({ failed: 1, reversed: 1 })
    expect(await detailOf(id)).toMatchObject({
      verification: 'rejected',
      verification_reason: 'The transaction was reverted',
      onchain: { verdict: 'reverted' },
      rep_delta: 0,
    })
    expect(await entriesOf(alice)).toEqual(['receipt_verified 8', 'receipt_reversed -8'])
    expect(await openFlags()).toMatchObject([
      { kind: 'receipt_reversed', subject: id, severity: 'warning' },
    ])
    const events = await eventsSince(service.actions.database.reader, { seq: 0 }, 10)
    expect(events).toMatchObject([{ kind: 'flag_opened', rail: 'x402' }])
    await expectScoresHold()
  })

  test('backs one receipt with each of its transfers, in the order of acceptance', async () => {
    const hash = await chain.pay(paidMs, payment({ usdc: 30 }), payment({ usdc: 10 }))
    const ids = []
    for (const summary of ['first', 'second', 'third'])
      ids.push(await sendSigned(hash, { summary }))
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ due: 1, verified: 2, failed: 1 })
    const late = await sendSigned(hash, { summary: 'fourth' })
    expect(await runOf()).toMatchObject({ verified: 0, failed: 1 })
    const found = await Promise.all([...ids, late].map(detailOf))
    expect(found.map(({ verification }) => verification)).toEqual([
      'verified',
      'verified',
      'rejected',
      'rejected',
    ])
    // The smallest transfer that suffices comes first, so that the larger is left for another.
    expect(found.map(({ onchain }) => onchain?.log_index)).toEqual([1, 0, undefined, undefined])
    expect(found[3]?.verification_reason).toMatch(/backs another receipt already/)
    await expectScoresHold()
  })

  test('is rejected only after several runs within a day did not find it', async () => {
    const id = await sendIssued(`0x${'ab'.repeat(32)}`)
    for (let hour = 0; hour < 24; hour += 1) {
      expect(await runOf()).toMatchObject({ waiting: 1, failed: 0 })
    }
    expect(await detailOf(id)).toMatchObject({ verification: 'verified', rep_delta: 8 })
    expect((await detailOf(id)).onchain?.reason).toMatch(/unknown on arbitrum so far/)
    expect(await runOf()).toMatchObject({ failed: 1, reversed: 1 })
    expect(await detailOf(id)).toMatchObject({
      verification: 'rejected',
      rep_delta: 0,
      onchain: { verdict: 'not_found' },
    })
  })

  test('is not counted as missing when it was seen in between, nor after a day without runs', async () => {
    const hash = `0x${'cd'.repeat(32)}`
    const id = await sendSigned(hash)
    await runOf()
    service.clock.advance(3 * dayMs)
    expect(await runOf()).toMatchObject({ waiting: 1, failed: 0 })
    expect((await detailOf(id)).verification).toBe('pending')
  })
})

describe('a chain that was reorganised', () => {
  const reorganise = {
    anvil_rollback: async () => void (await chain.rpc('anvil_rollback', [6])),
    anvil_reorg: async () => void (await chain.rpc('anvil_reorg', [6, []])),
  } as const
  for (const [name, undo] of Object.entries(reorganise)) {
    test(`reverses what was provisional, with an entry and a flag: ${name}`, async () => {
      await expectReversal(undo, true)
    })
  }

  test('reverses provisional earnings with a ledger entry and a flag', async () => {
    const before = await chain.rpc('evm_snapshot', [])
    await expectReversal(async () => void (await chain.rpc('evm_revert', [before])), true)
  })

  test('reverses even a final payment at its second check', async () => {
    const before = await chain.rpc('evm_snapshot', [])
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ verified: 1 })
    await chain.rpc('evm_revert', [before])
    await chain.mine(20)
    service.clock.advance(dayMs)
    expect(await runOf()).toMatchObject({ reversed: 1, waiting: 1 })
    expect(await entriesOf(alice)).toEqual(['receipt_verified 10', 'receipt_reversed -10'])
    expect(await openFlags()).toMatchObject([{ subject: id, severity: 'critical' }])
    expect(await detailOf(id)).toMatchObject({
      verification: 'pending',
      onchain_verified: false,
      rep_delta: 0,
    })
    await expectScoresHold()
  })

  /** `undo` removes the block of a payment that was provisional. */
  async function expectReversal(undo: () => Promise<void>, mineMore: boolean): Promise<void> {
    const hash = await chain.pay(paidMs, payment())
    const id = await sendIssued(hash)
    await chain.mine(5)
    expect(await runOf()).toMatchObject({ provisional: 1 })
    await undo()
    if (mineMore) {
      // As long as nothing stands in its place, the node may as well be behind.
      const nothing = await runOf()
      expect(nothing.reversed + nothing.errors).toBe(1)
      await chain.mine(8)
      if (nothing.errors === 1) expect(await runOf()).toMatchObject({ reversed: 1, waiting: 1 })
    }
    expect(await detailOf(id)).toMatchObject({ verification: 'pending', rep_delta: 0 })
    expect((await detailOf(id)).onchain).toMatchObject({ verdict: 'not_found' })
    expect(await entriesOf(alice)).toEqual(['receipt_verified 8', 'receipt_reversed -8'])
    expect(await openFlags()).toMatchObject([
      { kind: 'receipt_reversed', subject: id, evidence: { tx_hash: hash, had_earned: true } },
    ])
    const claims = await service.actions.database.reader
      .selectFrom('receipt_checks')
      .select('log_index')
      .execute()
    expect(claims).toEqual([{ log_index: null }])
    await expectScoresHold()
  }

  test('lets a receipt earn again once its transaction is final in another block', async () => {
    const before = await chain.rpc('evm_snapshot', [])
    const hash = await chain.send(payment())
    await chain.blockAt(paidMs)
    const id = await sendIssued(hash)
    await chain.mine(5)
    await runOf()
    await chain.rpc('evm_revert', [before])
    await chain.blockAt(paidMs + minuteMs)
    expect(await chain.send(payment())).toBe(hash)
    await chain.blockAt(paidMs + 2 * minuteMs)
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ reversed: 1, verified: 1 })
    expect(await detailOf(id)).toMatchObject({
      verification: 'verified',
      onchain_verified: true,
      rep_delta: 10,
    })
    expect(await entriesOf(alice)).toEqual([
      'receipt_verified 8',
      'receipt_reversed -8',
      'receipt_verified 10',
    ])
    expect(await openFlags()).toEqual([])
    await expectScoresHold()
  })
})

describe('receipts of one transaction', () => {
  test('move together to a block in which its logs have other indexes', async () => {
    const before = await chain.rpc('evm_snapshot', [])
    const payments = [payment({ usdc: 10 }), payment({ usdc: 30 })] as const
    const hash = await chain.send(...payments)
    await chain.blockAt(paidMs)
    const ids = [
      await sendIssued(hash, { amount_usdc: 10 }),
      await sendIssued(hash, { amount_usdc: 30 }),
    ]
    const places = async () =>
      (await Promise.all(ids.map(detailOf))).map(({ onchain }) => onchain?.log_index)
    await chain.mine(5)
    expect(await runOf()).toMatchObject({ due: 1, provisional: 2 })
    expect(await places()).toEqual([0, 1])
    await chain.rpc('evm_revert', [before])
    await chain.blockAt(paidMs + minuteMs)
    expect(await chain.send(...payments)).toBe(hash)
    await chain.sendAhead(payment({ to: bob.address }))
    await chain.blockAt(paidMs + 2 * minuteMs)
    await chain.mine(15)
    // The first now has the number that the second had.
    expect(await runOf()).toMatchObject({ reversed: 2, verified: 2, failed: 0 })
    expect(await places()).toEqual([1, 2])
    expect(await entriesOf(alice)).toEqual([
      'receipt_verified 8',
      'receipt_verified 12',
      'receipt_reversed -8',
      'receipt_verified 10',
      'receipt_reversed -12',
      'receipt_verified 15',
    ])
    await expectScoresHold()
  })
})

describe('a rejection', () => {
  test('is withdrawn with its block, and a later valid transaction is verified and earns', async () => {
    const before = await chain.rpc('evm_snapshot', [])
    const hash = await chain.sendReverting(payment())
    await chain.blockAt(paidMs)
    const id = await sendIssued(hash)
    expect(await runOf()).toMatchObject({ failed: 1, reversed: 1 })
    await chain.rpc('evm_revert', [before])
    await chain.blockAt(paidMs + minuteMs)
    await chain.rpc('anvil_setCode', [refusing, '0x'])
    expect(await chain.sendReverting(payment())).toBe(hash)
    await chain.blockAt(paidMs + 2 * minuteMs)
    expect(await runOf()).toMatchObject({ waiting: 1, failed: 0, reversed: 0 })
    expect(await detailOf(id)).toMatchObject({ verification: 'pending', rep_delta: 0 })
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ verified: 1 })
    expect(await detailOf(id)).toMatchObject({ verification: 'verified', rep_delta: 10 })
    expect(await entriesOf(alice)).toEqual([
      'receipt_verified 8',
      'receipt_reversed -8',
      'receipt_verified 10',
    ])
    expect(await openFlags()).toEqual([])
    await expectScoresHold()
  })

  test('is withdrawn with its block, and an unmined transaction waits again', async () => {
    const before = await chain.rpc('evm_snapshot', [])
    const hash = await chain.sendReverting(payment())
    await chain.blockAt(paidMs)
    const id = await sendSigned(hash)
    expect(await runOf()).toMatchObject({ failed: 1 })
    await chain.rpc('evm_revert', [before])
    await chain.mine(3)
    expect(await runOf()).toMatchObject({ waiting: 1 })
    expect(await detailOf(id)).toMatchObject({
      verification: 'pending',
      onchain: { verdict: 'not_found' },
    })
  })
})

describe('a node in trouble', () => {
  let id: string
  let before: unknown
  beforeEach(async () => {
    id = await sendIssued(await chain.pay(paidMs, payment()))
    await chain.mine(15)
    before = await detailOf(id)
  })

  const lies: Readonly<Record<string, ProxyRules['change']>> = {
    'the receipt of another transaction': (_, text) =>
      text.replaceAll(/"transactionHash":"0x../g, '"transactionHash":"0x00'),
    'the receipt of another transaction, which was reverted': (_, text) =>
      text
        .replaceAll(/"transactionHash":"0x../g, '"transactionHash":"0x00')
        .replace(/"logs":\[[^\]]*\][^\]]*\]/, '"logs":[]')
        .replace('"status":"0x1"', '"status":"0x0"'),
    'another block hash': (_, text) => text.replaceAll(/"blockHash":"0x../g, '"blockHash":"0x00'),
    'removed logs': (_, text) => text.replaceAll('"removed":false', '"removed":true'),
    'logs of another transaction': (_, text) => {
      const parts = text.split('"logs":')
      return [
        parts[0],
        (parts[1] ?? '').replace(/"transactionHash":"0x../, '"transactionHash":"0x00'),
      ].join('"logs":')
    },
    'no status': (_, text) => text.replaceAll('"status":"0x1"', '"status":"0x9"'),
    'another chain id': (_, text) => text.replaceAll('0xa4b1', '0x2105'),
    'text that is no JSON': () => '<html>busy</html>',
    'answers without results': (_, text) => text.replaceAll('"result"', '"rseult"'),
  }
  for (const [name, change] of Object.entries(lies)) {
    test(`changes no verdict: ${name}`, async () => {
      const report = await runBehind(change === undefined ? {} : { change })
      expect(report).toMatchObject({ verified: 0, failed: 0, reversed: 0, waiting: 0 })
      expect(report.state === 'failed' || report.errors === 1).toBe(true)
      expect(await detailOf(id)).toEqual(before)
      expect(await runOf()).toMatchObject({ verified: 1 })
    })
  }

  test('that is unreachable changes no verdict, and its URL is not shown in full', async () => {
    const url = 'http://127.0.0.1:1/v3/0123456789abcdef'
    const report = await run({ rpcUrls: { arbitrum: url } })
    expect(report.chains).toMatchObject([{ state: 'failed', due: 1, checked: 0 }])
    expect(() => receiptsResult(report)).toThrow(
      'arbitrum: 1 due, 4 RPC calls (arbitrum RPC at 127.0.0.1:1: the connection failed)',
    )
    expect(await detailOf(id)).toEqual(before)
  })

  test('that returns errors changes no verdict, and gets single calls when it refuses batches', async () => {
    expect(
      await runBehind({ instead: (request) => rpcError(request, -32_000, 'overloaded') }),
    ).toMatchObject({ state: 'failed' })
    expect(await detailOf(id)).toEqual(before)
  })

  for (const [blocks, verdict] of [
    [5, 'safe'],
    [15, 'final'],
  ] as const) {
    test(`that withholds the receipt of a block that still stands changes nothing: ${verdict}`, async () => {
      const other = await sendSigned(await chain.pay(paidMs + hourMs, payment()))
      await chain.mine(blocks)
      await runOf()
      expect((await detailOf(other)).onchain?.verdict).toBe(verdict)
      await sendSigned(await transactionOf(other), { summary: 'again' })
      const withheld = await runBehind({
        change: (request, text) =>
          request.method === 'eth_getTransactionReceipt'
            ? text.replace(/"result":\{.*\}/, '"result":null}')
            : text,
      })
      expect(withheld).toMatchObject({ reversed: 0, failed: 0 })
      expect((await detailOf(other)).onchain?.verdict).toBe(verdict)
    })
  }

  async function transactionOf(receipt: string): Promise<string> {
    return (await detailOf(receipt)).tx_hash ?? ''
  }
})

describe('a run', () => {
  test('is published by chain, on the status page and as a document', async () => {
    await sendSigned(await chain.pay(paidMs, payment()))
    await sendSigned(await chain.pay(paidMs + minuteMs, payment({ usdc: 1 })))
    await chain.mine(15)
    const found = await run()
    expect(receiptsResult(found).detail).toMatch(
      /^arbitrum: 2 due, 1 verified, 1 failed, \d+ RPC calls$/,
    )
    const receiptRun = await lastReceiptRun(service.actions.database)
    expect(receiptRun).toEqual(found)
    const documents = [...siteOf({ ...fullWorld('https://ledger.test'), receiptRun })]
    const text = (path: string) => {
      const document = documents.find((one) => one.path === path)
      return document === undefined ? '' : Buffer.from(renderBody(document, '')).toString('utf8')
    }
    expect(JSON.parse(text('/status/receipts.json'))).toEqual(JSON.parse(JSON.stringify(found)))
    expect(text('/status.md')).toMatch(
      /\| arbitrum \| checked \| 2 \| 1 \| 0 \| 0 \| 1 \| 0 \| 0 \|/,
    )
  })
})

describe('a chain that is not checked', () => {
  test('is reported as without RPC, and its receipts wait', async () => {
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    const report = await run({ rpcUrls: {} })
    expect(report.chains).toMatchObject([{ chain: 'arbitrum', state: 'no rpc', due: 1 }])
    expect(receiptsResult(report).detail).toBe(
      'arbitrum: no RPC is set for arbitrum (RPC_URL_ARBITRUM), 1 waiting',
    )
    expect(await detailOf(id)).toMatchObject({ verification: 'pending', rep_delta: 0 })
  })

  test('is reported as without a checker when it is not an EVM chain', async () => {
    const worker = solanaWallet('worker')
    const receipt = receiptFacts(worker, {
      chain: 'solana',
      tx_hash: '5'.repeat(87),
      to_wallet: worker.address,
    })
    const id = await post(workerSigned(receipt, workerKey), worker)
    const report = await run()
    expect(report.chains).toMatchObject([{ chain: 'solana', state: 'no checker', due: 1 }])
    expect(await detailOf(id)).toMatchObject({
      verification: 'pending',
      verification_reason: 'no checker for solana',
      onchain: { verdict: 'unchecked' },
    })
  })

  test('is not asked about payments on another chain', async () => {
    const hash = await chain.pay(paidMs, payment())
    await sendSigned(hash, { chain: 'base' })
    await chain.mine(15)
    const proxy = await startRpcProxy(chain.url)
    const report = await run({ rpcUrls: { base: proxy.url } })
    await proxy.stop()
    expect(report.chains).toMatchObject([
      { chain: 'base', state: 'failed', reason: 'base RPC: the node is of chain 42161, not 8453' },
    ])
  })
})
