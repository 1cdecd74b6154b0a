import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { checkReceipts, receiptsResult } from '../../builder/jobs/check-receipts.ts'
import type { ReviewDeps } from '../../builder/jobs/review-reputation.ts'
import { lastReceiptRun } from '../../builder/world/receipt-run.ts'
import type { ChainReport } from '../../builder/world/receipt-run.ts'
import { acceptedReceipt, receiptDetail } from '../../src/contract/schemas/receipt.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { eventsSince } from '../../src/db/events.ts'
import { listOpenFlags } from '../../src/db/flags.ts'
import { topStandings } from '../../src/db/leaderboard.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { fullWorld } from '../site/worlds.ts'
import { handClock } from '../support/http-service.ts'
import { expectLogged } from '../support/logged.ts'
import { fakeToken, refusing, startReceiptChain } from '../support/receipt-chain.ts'
import type { Payment, ReceiptChain } from '../support/receipt-chain.ts'
import {
  issued,
  platformActions,
  receiptFacts,
  submission,
  workerSigned,
} from '../support/receipts.ts'
import { proxyDuringTest, rpcError } from '../support/rpc-proxy.ts'
import type { ProxyRules } from '../support/rpc-proxy.ts'
import { seller, sellerSigned } from '../support/seller.ts'
import { siteOf, textAt } from '../support/site.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, solanaWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('starts anvil')

const genesisMs = Date.UTC(2026, 10, 20)
const startMs = Date.UTC(2026, 10, 21, 6)
const paidMs = startMs - 2 * hourMs
const platformKey = ed25519Key('platform')
const workerKey = ed25519Key('worker')
const alice = evmWallet('alice')
const bob = evmWallet('bob')
const payer = evmWallet('payer')

const service = useService({
  options: async () => ({
    clock: handClock(startMs),
    actions: await platformActions(platformKey),
  }),
})
let chain: ReceiptChain
beforeAll(async () => {
  chain = await startReceiptChain('arbitrum', genesisMs)
  await chain.mine(3)
})
// Whatever the checks of a test have done.
afterEach(() => expectLogged(service))
afterAll(() => chain.stop())
beforeEach(() => chain.snapshot())

async function post(receipt: object, submitter: TestWallet = alice) {
  service.clock.advance(1)
  const body = await submission(submitter, receipt, service.clock.now())
  return acceptedReceipt.parse((await service.postJson('/api/v1/receipts', body)).body).receipt_id
}

const payment = (changes: Partial<Payment> = {}): Payment => ({
  from: payer.address,
  to: alice.address,
  usdc: 10,
  ...changes,
})

/** What a receipt states about the payment; members that are undefined are left out. */
function facts(txHash: string, changes: object = {}): object {
  const stated = receiptFacts(alice, {
    chain: 'arbitrum',
    tx_hash: txHash,
    from_wallet: payer.address,
    occurred_at: isoTime(paidMs),
    ...changes,
  })
  return Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined))
}

const sendSigned = (txHash: string, changes: object = {}) =>
  post(workerSigned(facts(txHash, changes), workerKey))

const sendIssued = (txHash: string, changes: object = {}) =>
  post(issued(facts(txHash, changes), platformKey))

async function detailOf(id: string) {
  return receiptDetail.strict().parse((await service.getJson(`/api/v1/receipts/${id}`)).body)
}

/** Expects the verification of a receipt, what it earned, and other members. */
async function expectReceipt(id: string, verification: string, repDelta: number, more = {}) {
  expect(await detailOf(id)).toMatchObject({ verification, rep_delta: repDelta, ...more })
}

async function run(changes: Partial<ReviewDeps> = {}) {
  service.clock.advance(hourMs)
  const { database, random } = service.actions
  return await checkReceipts({
    database,
    clock: service.clock,
    random,
    fetch,
    rpcUrls: { arbitrum: chain.url },
    signal: new AbortController().signal,
    retries: 0,
    ...changes,
  })
}

async function runOf(changes: Partial<ReviewDeps> = {}): Promise<ChainReport> {
  const { chains } = await run(changes)
  const report = chains.find((one) => one.chain === 'arbitrum')
  if (report === undefined) throw new Error('nothing was due on arbitrum')
  return report
}

/** Runs against a node whose answers the rules distort. */
async function runBehind(rules: ProxyRules): Promise<ChainReport> {
  return await runOf({ rpcUrls: { arbitrum: (await proxyDuringTest(chain.url, rules)).url } })
}

async function entriesOf(wallet: TestWallet) {
  const { reader } = service.actions.database
  const entries = await reader
    .selectFrom('reputation_ledger')
    .select(['kind', 'value_micro_points'])
    .where('wallet', '=', wallet.id)
    .orderBy('seq')
    .execute()
  return entries.map(({ kind, value_micro_points: value }) => `${kind} ${value / 1e6}`)
}

/** Expects these reputation entries of the worker, and that the stored scores are exactly their sum. */
async function expectEntries(...entries: readonly string[]): Promise<void> {
  expect(await entriesOf(alice)).toEqual(entries)
  const { differences } = await recomputeScores(service.actions.database.reader)
  expect(differences).toEqual([])
}

const openFlags = async () => await listOpenFlags(service.actions.database.reader)

describe('a payment before finality', () => {
  test('a payment becomes soft, provisional and verified, and earns only when verified', async () => {
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    await expectReceipt(id, 'pending', 0)
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
      rep_delta: 0.3,
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
    await expectEntries('receipt_verified 0.3')
    expect(
      await topStandings(service.actions.database.reader, 5, service.clock.now()),
    ).toMatchObject([{ wallet: alice.id, receipts: 1, lifetimeMicroUsdc: 10_000_000 }])
  })

  test('a verified payment is checked once more a day after finality, and never again', async () => {
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    await chain.mine(15)
    await runOf()
    expect((await run()).chains).toEqual([])
    service.clock.advance(dayMs)
    expect(await runOf()).toMatchObject({ due: 1, checked: 1, verified: 0, rpc_calls: 5 })
    service.clock.advance(10 * dayMs)
    expect((await run()).chains).toEqual([])
    await expectReceipt(id, 'verified', 0.3)
  })

  test('a payment raises what a platform signature had earned, and needs at least the stated amount', async () => {
    const id = await sendIssued(await chain.pay(paidMs, payment({ usdc: 12.5 })))
    await expectReceipt(id, 'verified', 0.24)
    await chain.mine(15)
    await runOf()
    await expectReceipt(id, 'verified', 0.3, { onchain_verified: true })
    await expectEntries('receipt_verified 0.24', 'adjustment 0.06')
  })

  test('a payment in the mempool is pending, and verified once mined', async () => {
    const id = await sendSigned(await chain.send(payment()))
    expect(await runOf()).toMatchObject({ waiting: 1 })
    expect((await detailOf(id)).onchain?.verdict).toBe('pending')
    await chain.blockAt(paidMs)
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ verified: 1 })
    expect(await detailOf(id)).toMatchObject({ verification: 'verified' })
  })

  test('a payment without a stated payer counts as paid by the wallet on the chain', async () => {
    const hash = await chain.pay(paidMs, payment())
    const id = await sendSigned(hash, { from_wallet: undefined })
    await sendSigned(await chain.pay(paidMs + minuteMs, payment()))
    await chain.mine(15)
    await runOf()
    expect(await detailOf(id)).toMatchObject({ rep_delta: 0.3 })
    await expectEntries('receipt_verified 0.3', 'receipt_verified 0.15')
  })
})

describe('a receipt whose amount the chain says', () => {
  const network = 'eip155:42161'
  const resourceUrl = 'https://shop.example.com/widget'
  const sendBySeller = async (transaction: string, amount = '') => {
    const issuedAt = paidMs / 1000
    const facts = { version: 1, network, resourceUrl, payer: payer.address, issuedAt, transaction }
    const receipt = await sellerSigned('Receipt', facts)
    const terms = { version: 1, network, resourceUrl, scheme: 'exact', asset: chain.usdc }
    const offer = await sellerSigned('Offer', { ...terms, payTo: seller.address, amount })
    const artifacts = amount === '' ? { receipt } : { receipt, offer }
    return await post({ rail: 'x402', offer_receipt: artifacts }, seller)
  }
  const sendProof = async (txHash: string) => {
    const parties = { fromAddress: payer.address, toAddress: seller.address }
    const proof = { ...parties, chainId: '42161', txHash }
    const occurredAt = isoTime(paidMs)
    return await post({ rail: 'x402', proof_of_payment: proof, occurred_at: occurredAt }, seller)
  }
  const toSeller = { to_wallet: seller.address }
  const kinds: Readonly<Record<string, (txHash: string) => Promise<string>>> = {
    seller: sendBySeller,
    proof: sendProof,
    worker: (tx) => post(workerSigned(facts(tx, toSeller), workerKey), seller),
    platform: (tx) => sendIssued(tx, toSeller),
  }

  test.each([
    ['signed by a seller', sendBySeller],
    ['signed by a seller with an offer of less', (tx: string) => sendBySeller(tx, '9000000')],
    ['signed by a seller with an offer of more', (tx: string) => sendBySeller(tx, '11000000')],
    ['that names a proof of payment', sendProof],
  ])('a receipt %s has the amount of the transfer, and earns once it is final', async (_, of) => {
    const id = await of(await chain.pay(paidMs, payment({ to: seller.address })))
    await expectReceipt(id, 'pending', 0)
    await runOf()
    await expectReceipt(id, 'pending', 0, { amount_usdc: 10, onchain: { verdict: 'soft' } })
    await chain.mine(15)
    await runOf()
    await expectReceipt(id, 'verified', 0.3, { amount_usdc: 10, onchain_verified: true })
    expect((await detailOf(id)).unknown_figures).toBeUndefined()
    expect(
      await topStandings(service.actions.database.reader, 5, service.clock.now()),
    ).toMatchObject([{ wallet: seller.id, receipts: 1, lifetimeMicroUsdc: 10_000_000 }])
  })

  test.each([
    ['pays another wallet', { to: bob.address }],
    ['is paid by another wallet', { to: seller.address, from: bob.address }],
    ['moves another token', { to: seller.address, token: fakeToken }],
    ['moves nothing', { to: seller.address, usdc: 0 }],
  ])('a receipt of a seller is rejected if its transaction %s', async (_, changes) => {
    const id = await sendBySeller(await chain.pay(paidMs, payment(changes)), '10000000')
    await chain.mine(15)
    await runOf()
    await expectReceipt(id, 'rejected', 0)
  })

  test.each([
    ['seller', 'proof', 'worker'],
    ['proof', 'worker', 'seller'],
    ['worker', 'seller', 'proof'],
    ['platform', 'seller', 'proof'],
    ['seller', 'platform', 'proof'],
  ])('one transfer counts once: by %s, then not by %s and %s', async (...order) => {
    const hash = await chain.pay(paidMs, payment({ to: seller.address }))
    const ids = []
    for (const kind of order) ids.push((await kinds[kind]?.(hash)) ?? '')
    await chain.mine(15)
    await runOf()
    const found = await Promise.all(ids.map(detailOf))
    expect(found.map(({ verification }) => verification)).toEqual([
      'verified',
      'rejected',
      'rejected',
    ])
    expect(found.map(({ rep_delta: points }) => points)).toEqual([0.3, 0, 0])
    expect(
      await topStandings(service.actions.database.reader, 5, service.clock.now()),
    ).toMatchObject([{ receipts: 1, lifetimeMicroUsdc: 10_000_000 }])
  })
})

describe('a transaction that does not support its receipt', () => {
  test.each<readonly [string, Partial<Payment> & { atMs?: number }, object, RegExp]>([
    ['less than the stated amount', { usdc: 9.999999 }, {}, /less USDC/],
    ['nothing, which anyone can log', { usdc: 0 }, { amount_usdc: 0 }, /moves no USDC$/],
    ['another wallet', { to: bob.address }, {}, /no USDC to 0x/],
    [
      'the worker, from another payer',
      { from: bob.address },
      {},
      /a wallet other than from_wallet/,
    ],
    ['in another token with the same event', { token: fakeToken }, {}, /moves no USDC/],
    ['nothing but an approval', { event: 'Approval' }, {}, /moves no USDC/],
    [
      'the worker from itself, with no payer stated',
      { from: alice.address },
      { from_wallet: undefined },
      /worker sent the USDC to itself/,
    ],
    [
      'more than a day before occurred_at',
      { atMs: startMs - 25 * hourMs },
      { occurred_at: isoTime(startMs) },
      /more than 24 hours from occurred_at/,
    ],
  ])(
    'a receipt is refused at once when its transaction pays %s',
    async (_name, { atMs = paidMs, ...paid }, changes, reason) => {
      const id = await sendSigned(await chain.pay(atMs, payment(paid)), changes)
      expect(await runOf()).toMatchObject({ failed: 1, reversed: 0 })
      const found = await detailOf(id)
      expect(found).toMatchObject({
        verification: 'rejected',
        onchain_verified: false,
        onchain: { verdict: 'mismatch' },
        rep_delta: 0,
      })
      expect(found.verification_reason).toMatch(reason)
      await expectEntries()
      expect(await openFlags()).toEqual([])
      // Its block may still be reorganised; once that is final, the refusal is.
      await chain.mine(15)
      expect(await runOf()).toMatchObject({ due: 1, checked: 1, failed: 0, rpc_calls: 5 })
      expect(await detailOf(id)).toMatchObject({ verification: 'rejected' })
      service.clock.advance(7 * dayMs)
      expect((await run()).chains).toEqual([])
    },
  )

  test('a reverted transaction rejects its receipt, and earnings by a platform signature are reversed', async () => {
    const hash = await chain.sendReverting(payment())
    await chain.blockAt(paidMs)
    const id = await sendIssued(hash)
    expect(await runOf()).toMatchObject({ failed: 1, reversed: 1 })
    await expectReceipt(id, 'rejected', 0, {
      verification_reason: 'The transaction was reverted',
      onchain: { verdict: 'reverted' },
    })
    await expectEntries('receipt_verified 0.24', 'receipt_reversed -0.24')
    expect(await openFlags()).toMatchObject([
      { kind: 'receipt_reversed', subject: id, severity: 'warning' },
    ])
    const events = await eventsSince(service.actions.database.reader, { seq: 0 }, 10)
    expect(events).toMatchObject([{ kind: 'flag_opened', rail: 'x402' }])
  })

  test('a transaction backs one receipt with each of its transfers, of which the first accepted one earns', async () => {
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
    expect(found[3]?.verification_reason).toMatch(/already backs another receipt/)
    await expectEntries('receipt_verified 0.3', 'receipt_verified 0')
  })

  test('a receipt is rejected only after several runs within a day did not find its transaction', async () => {
    const id = await sendIssued(`0x${'ab'.repeat(32)}`)
    let checks = 0
    for (let hour = 0; hour < 30; hour += 1) checks += (await run()).chains.length
    expect(checks).toBe(5)
    await expectReceipt(id, 'verified', 0.24)
    expect((await detailOf(id)).onchain?.reason).toMatch(/unknown on arbitrum so far/)
    expect(await runOf()).toMatchObject({ failed: 1, reversed: 1 })
    await expectReceipt(id, 'rejected', 0, { onchain: { verdict: 'not_found' } })
  })

  test('days without runs do not count as runs that did not find a transaction', async () => {
    const hash = `0x${'cd'.repeat(32)}`
    const id = await sendSigned(hash)
    await runOf()
    service.clock.advance(3 * dayMs)
    expect(await runOf()).toMatchObject({ waiting: 1, failed: 0 })
    expect((await detailOf(id)).verification).toBe('pending')
  })
})

describe('a chain that was reorganised', () => {
  test.each<readonly [string, () => Promise<unknown>]>([
    ['anvil_rollback', () => chain.rpc('anvil_rollback', [6])],
    ['anvil_reorg', () => chain.rpc('anvil_reorg', [6, []])],
  ])('a reorganisation reverses earnings with an entry and a flag: %s', async (_name, undo) => {
    const hash = await chain.pay(paidMs, payment())
    const id = await sendIssued(hash)
    await chain.mine(5)
    expect(await runOf()).toMatchObject({ provisional: 1 })
    await undo()
    // As long as no other block replaces it, the node may as well be behind.
    const atOnce = await runOf()
    expect(atOnce.reversed + atOnce.errors).toBe(1)
    await chain.mine(8)
    if (atOnce.errors === 1) expect(await runOf()).toMatchObject({ reversed: 1, waiting: 1 })
    await expectReceipt(id, 'pending', 0, { onchain: { verdict: 'not_found' } })
    await expectEntries('receipt_verified 0.24', 'receipt_reversed -0.24')
    expect(await openFlags()).toMatchObject([
      { kind: 'receipt_reversed', subject: id, evidence: { tx_hash: hash, had_earned: true } },
    ])
    const { reader } = service.actions.database
    const claims = await reader.selectFrom('receipt_checks').select('log_index').execute()
    expect(claims).toEqual([{ log_index: null }])
  })

  test('a reorganisation reverses even a final payment at its second check', async () => {
    const undo = await chain.snapshot()
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ verified: 1 })
    await undo()
    await chain.mine(20)
    service.clock.advance(dayMs)
    expect(await runOf()).toMatchObject({ reversed: 1, waiting: 1 })
    await expectEntries('receipt_verified 0.3', 'receipt_reversed -0.3')
    expect(await openFlags()).toMatchObject([{ subject: id, severity: 'critical' }])
    await expectReceipt(id, 'pending', 0, { onchain_verified: false })
  })

  /** Sends the same transaction again after its block was undone; it is mined in a later block. */
  async function mineAgain(send: () => Promise<string>, hash: string): Promise<void> {
    await chain.blockAt(paidMs + minuteMs)
    expect(await send()).toBe(hash)
    await chain.blockAt(paidMs + 2 * minuteMs)
  }

  test('a reversed receipt earns again once its transaction is final in another block', async () => {
    const undo = await chain.snapshot()
    const hash = await chain.pay(paidMs, payment())
    const id = await sendIssued(hash)
    await chain.mine(5)
    await runOf()
    await undo()
    await mineAgain(() => chain.send(payment()), hash)
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ reversed: 1, verified: 1 })
    await expectReceipt(id, 'verified', 0.3, { onchain_verified: true })
    await expectEntries('receipt_verified 0.24', 'receipt_reversed -0.24', 'receipt_verified 0.3')
    expect(await openFlags()).toEqual([])
  })

  test('receipts of one transaction move together to a block with other log indexes', async () => {
    const undo = await chain.snapshot()
    const payments = [payment({ usdc: 10 }), payment({ usdc: 30 })] as const
    const hash = await chain.pay(paidMs, ...payments)
    const ids = [
      await sendIssued(hash, { amount_usdc: 10 }),
      await sendIssued(hash, { amount_usdc: 30 }),
    ]
    const logIndexes = async () =>
      (await Promise.all(ids.map(detailOf))).map(({ onchain }) => onchain?.log_index)
    await chain.mine(5)
    expect(await runOf()).toMatchObject({ due: 1, provisional: 2 })
    expect(await logIndexes()).toEqual([0, 1])
    await undo()
    const sendSecond = async () => {
      const again = await chain.send(...payments)
      await chain.sendAhead(payment({ to: bob.address }))
      return again
    }
    await mineAgain(sendSecond, hash)
    await chain.mine(15)
    // The first receipt now has the log index that the second one had.
    expect(await runOf()).toMatchObject({ reversed: 2, verified: 2, failed: 0 })
    expect(await logIndexes()).toEqual([1, 2])
    await expectEntries(
      'receipt_verified 0.24',
      'receipt_verified 0',
      'receipt_reversed -0.24',
      'receipt_reversed 0',
      'receipt_verified 0.3',
      'receipt_verified 0',
    )
  })

  test('a reorganisation withdraws a rejection, and a transaction that is valid later is verified and earns', async () => {
    const undo = await chain.snapshot()
    const hash = await chain.sendReverting(payment())
    await chain.blockAt(paidMs)
    const id = await sendIssued(hash)
    expect(await runOf()).toMatchObject({ failed: 1, reversed: 1 })
    await undo()
    await chain.rpc('anvil_setCode', [refusing, '0x'])
    await mineAgain(() => chain.sendReverting(payment()), hash)
    expect(await runOf()).toMatchObject({ waiting: 1, failed: 0, reversed: 0 })
    await expectReceipt(id, 'pending', 0)
    await chain.mine(15)
    expect(await runOf()).toMatchObject({ verified: 1 })
    await expectReceipt(id, 'verified', 0.3)
    await expectEntries('receipt_verified 0.24', 'receipt_reversed -0.24', 'receipt_verified 0.3')
    expect(await openFlags()).toEqual([])
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

  /** Replaces every occurrence in each answer of the node. */
  const replaced =
    (from: string | RegExp, to: string): ProxyRules['change'] & {} =>
    (_, text) =>
      text.replaceAll(from, to)
  const ofAnother = replaced(/"transactionHash":"0x../g, '"transactionHash":"0x00')

  test.each<readonly [string, ProxyRules['change'] & {}]>([
    ['the receipt of another transaction', ofAnother],
    [
      'the receipt of another transaction, which was reverted',
      (request, text) =>
        (ofAnother(request, text) ?? '')
          .replace(/"logs":\[[^\]]*\][^\]]*\]/, '"logs":[]')
          .replace('"status":"0x1"', '"status":"0x0"'),
    ],
    ['another block hash', replaced(/"blockHash":"0x../g, '"blockHash":"0x00')],
    ['removed logs', replaced('"removed":false', '"removed":true')],
    [
      'logs of another transaction',
      (_, text) => text.replace(/("logs":.*?"transactionHash":"0x)../s, '$100'),
    ],
    ['no status', replaced('"status":"0x1"', '"status":"0x9"')],
    ['another chain id', replaced('0xa4b1', '0x2105')],
    ['text that is no JSON', () => '<html>busy</html>'],
    ['answers without results', replaced('"result"', '"rseult"')],
    ['errors', (request) => rpcError(request, -32_000, 'overloaded').body],
  ])('a node that returns %s changes no verdict', async (_name, change) => {
    const report = await runBehind({ change })
    expect(report).toMatchObject({ verified: 0, failed: 0, reversed: 0, waiting: 0 })
    expect(report.state === 'failed' || report.errors === 1).toBe(true)
    expect(await detailOf(id)).toEqual(before)
    expect(await runOf()).toMatchObject({ verified: 1 })
  })

  test('an unreachable node changes no verdict, and its URL is not shown in full', async () => {
    const url = 'http://127.0.0.1:1/v3/0123456789abcdef'
    const report = await run({ rpcUrls: { arbitrum: url } })
    expect(report.chains).toMatchObject([{ state: 'failed', due: 1, checked: 0 }])
    expect(() => receiptsResult(report)).toThrow(
      'arbitrum: 1 due, 4 RPC calls (arbitrum RPC at 127.0.0.1:1: the connection failed)',
    )
    expect(await detailOf(id)).toEqual(before)
  })

  test.each([
    [5, 'safe'],
    [15, 'final'],
  ])('a node that withholds a receipt %i blocks deep leaves it %s', async (blocks, verdict) => {
    const hash = await chain.pay(paidMs + hourMs, payment())
    const other = await sendSigned(hash)
    await chain.mine(blocks)
    await runOf()
    expect((await detailOf(other)).onchain?.verdict).toBe(verdict)
    await sendSigned(hash, { summary: 'again' })
    const withheld = await runBehind({
      change: (request, text) =>
        request.method === 'eth_getTransactionReceipt'
          ? text.replace(/"result":\{.*\}/, '"result":null}')
          : text,
    })
    expect(withheld).toMatchObject({ reversed: 0, failed: 0 })
    expect((await detailOf(other)).onchain?.verdict).toBe(verdict)
  })
})

describe('a run', () => {
  test('a run is published by chain, on the status page and as a document', async () => {
    await sendSigned(await chain.pay(paidMs, payment()))
    await sendSigned(await chain.pay(paidMs + minuteMs, payment({ usdc: 1 })))
    await chain.mine(15)
    const found = await run()
    expect(receiptsResult(found).detail).toMatch(
      /^arbitrum: 2 due, 1 verified, 1 failed, \d+ RPC calls$/,
    )
    const receiptRun = await lastReceiptRun(service.actions.database)
    expect(receiptRun).toEqual(found)
    const documents = siteOf({ ...fullWorld('https://ledger.test'), receiptRun })
    const text = (path: string) => textAt(path, documents)
    expect(JSON.parse(text('/status/receipts.json'))).toEqual(JSON.parse(JSON.stringify(found)))
    expect(text('/status.md')).toMatch(/\| Rejected \| RPC calls \| Reason \|/)
    expect(text('/status.md')).toMatch(/\| arbitrum \| checked \| 2 \| 1 \| 1 \| \d+ \|/)
  })
})

describe('a chain that is not checked', () => {
  test('a chain without an RPC node is reported as such, and its receipts wait', async () => {
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    const report = await run({ rpcUrls: {} })
    expect(report.chains).toMatchObject([{ chain: 'arbitrum', state: 'no rpc', due: 1 }])
    expect(receiptsResult(report).detail).toBe(
      'arbitrum: no RPC is set for arbitrum (RPC_URL_ARBITRUM), 1 waiting',
    )
    await expectReceipt(id, 'pending', 0)
  })

  test('a chain that is not an EVM chain is reported as without a checker', async () => {
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
      verification_reason:
        'Nobody checks transactions of this chain, so the payment stays unconfirmed; the statement of its month does not wait for it (see /docs/receipts#chains)',
      onchain: { verdict: 'unchecked', reason: 'no checker for solana' },
    })
  })
})

describe('receipts of one worker with invented transactions', () => {
  /** Posts one receipt of bob, and copies it with other hashes that no chain knows. */
  async function invent(count: number): Promise<void> {
    const first = facts(`0x${'1'.repeat(64)}`, { to_wallet: bob.address })
    await post(workerSigned(first, workerKey), bob)
    await service.actions.database.write(async (tx) => {
      const { seq: _seq, ...row } = await tx
        .selectFrom('receipts')
        .selectAll()
        .executeTakeFirstOrThrow()
      for (let from = 1; from < count; from += 200) {
        const rows = Array.from({ length: Math.min(200, count - from) }, (_, place) => {
          const hex = (from + place).toString(16)
          return { ...row, id: `${row.id}${from + place}`, tx_hash: `0x${hex.padStart(64, '0')}` }
        })
        await tx.insertInto('receipts').values(rows).execute()
      }
    })
  }

  test('10,000 receipts with invented transactions do not delay the receipt of another worker', async () => {
    await invent(10_000)
    const id = await sendSigned(await chain.pay(paidMs, payment()))
    await chain.mine(15)
    const { state, rpc_calls: calls } = await runOf({ maxCalls: 1000 })
    expect([state, calls <= 1000]).toEqual(['stopped', true])
    await expectReceipt(id, 'verified', 0.3)
  })

  test('receipts with invented transactions cost at most 12 calls each before they are rejected', async () => {
    await invent(100)
    let calls = 0
    for (let hour = 0; hour < 32; hour += 1) {
      const { chains } = await run()
      calls += chains.reduce((sum, one) => sum + one.rpc_calls, 0)
    }
    expect(calls).toBeLessThan(100 * 12 + 32 * 4)
    const { reader } = service.actions.database
    const rows = await reader.selectFrom('receipts').select('onchain').distinct().execute()
    expect(rows).toEqual([{ onchain: 'failed' }])
  })
})
