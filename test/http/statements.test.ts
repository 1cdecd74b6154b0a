import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { numberToHex } from 'viem'
import { expect, test } from 'vitest'

import { applyFacts, noTally } from '../../builder/chain/receipt-apply.ts'
import type { TransactionFacts } from '../../builder/chain/receipt-facts.ts'
import { checkReceipts } from '../../builder/jobs/check-receipts.ts'
import { reviewReputation } from '../../builder/jobs/review-reputation.ts'
import { makeStatements } from '../../builder/jobs/statements.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { acceptedReceipt } from '../../src/contract/schemas/receipt.ts'
import { statementList } from '../../src/contract/schemas/statement.ts'
import type { Clock } from '../../src/core/deps.ts'
import type { Finality } from '../../src/core/onchain.ts'
import { checkStatement, incomeStatement } from '../../src/core/statement.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { applyReview } from '../../src/db/reviews.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { queued } from '../support/logged.ts'
import { publishLog } from '../support/publish-log.ts'
import {
  issued,
  platformActions,
  receiptFacts,
  submission,
  workerSigned,
} from '../support/receipts.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, signedBody } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const platformKey = ed25519Key('platform')
const [alice, bob, payer] = [evmWallet('alice'), evmWallet('bob'), evmWallet('payer')]
const october = '2026-10-05T12:00:00.000Z'
const november = '2026-11-20T12:00:00.000Z'
const usdcOnBase = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

const service = useService({
  options: async () => ({ actions: await platformActions(platformKey) }),
})
const at = (time: string) => service.clock.advance(Date.parse(time) - service.clock.now())
const hashOf = (nth: number) => numberToHex(nth, { size: 32 })
const base = `/api/v1/workers/${alice.address}/statements`

async function post(signed: object, worker = alice): Promise<string> {
  service.clock.advance(1)
  const body = await submission(worker, signed, service.clock.now())
  return acceptedReceipt.parse((await service.postJson('/api/v1/receipts', body)).body).receipt_id
}
const facts = (changes: object) => receiptFacts(alice, { occurred_at: october, ...changes })
const byPlatform = (changes: object = {}) => post(issued(facts(changes), platformKey))
const byWorker = (changes: object = {}) => post(workerSigned(facts(changes), ed25519Key('own')))
const paid = (tx: number, changes: object = {}) =>
  byPlatform({ chain: 'base', tx_hash: hashOf(tx), from_wallet: payer.address, ...changes })

interface Shown {
  readonly block?: number
  readonly usdc?: number | readonly number[]
  readonly from?: Pick<TestWallet, 'id'>
  readonly time?: string
  readonly finality?: Finality
}

/** The chain shows the transaction in this block, with a transfer of 10 USDC unless told otherwise. */
async function show(
  tx: number,
  { block = 1, usdc = 10, from = payer, time = october, finality = 'final' }: Shown = {},
): Promise<void> {
  const found: TransactionFacts = {
    kind: 'mined',
    block: { number: block, hash: hashOf(block), atMs: Date.parse(time), finality },
    transfers: [usdc].flat().map((sum, at) => {
      return { logIndex: at + 3, from: from.id, to: alice.id, value: BigInt(sum * 1e6) }
    }),
  }
  const { database, random } = service.actions
  service.clock.advance(hourMs)
  const nowMs = service.clock.now()
  await database.write((write) =>
    applyFacts(write, { chain: 'base', txHash: hashOf(tx) }, found, {
      random,
      nowMs,
      tally: { ...noTally },
    }),
  )
}

function close(clock: Clock = service.clock, isDemo = false): Promise<number> {
  const { database } = service.actions
  return makeStatements({ database, clock, isDemo, signal: new AbortController().signal })
}
const byBob = () =>
  post(workerSigned(receiptFacts(bob, { occurred_at: october }), ed25519Key('bob')), bob)

/** The first checks of payers, 14 days after the receipts began to count. */
async function review(): Promise<void> {
  service.clock.advance(15 * dayMs)
  const { database, clock, random } = service.actions
  const { signal } = new AbortController()
  await reviewReputation({ database, clock, random, fetch, signal, rpcUrls: {} })
}

/** A check finds that the worker funds the payer of the receipt. */
async function link(receiptId: string, stage: number): Promise<void> {
  const found = { party: alice.id, isHub: false, knownSince: october }
  const { database, clock } = service.actions
  await database.write((tx) =>
    applyReview(
      tx,
      { receiptId, worker: alice.id, display: alice.address, payer: payer.id },
      stage,
      { ...found, link: 'the worker funds the payer', reason: 'a look-up' },
      isoTime(clock.now()),
    ),
  )
}

async function dispute(receipt_id: string): Promise<void> {
  service.clock.advance(1)
  const claim = { target: { receipt_id }, claim: 'It was not paid.' }
  const body = await signedBody(payer, 'dispute', claim, { nowMs: service.clock.now() })
  expect(await service.postJson('/api/v1/disputes', body)).toMatchObject({ status: 201 })
}

async function bytesOf(month: string): Promise<string> {
  const answer = await fetch(`${service.url}${base}/${month}`)
  expect(answer.headers.get('X-Signature')).toMatch(/^ed25519:/)
  return await answer.text()
}
const statementOf = async (month: string) =>
  incomeStatement.strict().parse(JSON.parse(await bytesOf(month)))
const list = async () => statementList.strict().parse((await service.getJson(base)).body)

test('a month is stated once its receipts are final and their payers checked, with its hash in the log', async () => {
  await paid(1)
  await show(1, { finality: 'safe' })
  expect(await close()).toBe(0)
  const closes = '2026-11-16T00:00:00.000Z'
  expect(await list()).toMatchObject({
    statements: [],
    open_months: [{ month: '2026-10', closes_at_earliest: closes }],
  })
  const unmade = await service.getJson(`${base}/2026-10`)
  expect(unmade).toMatchObject({
    status: 404,
    body: { details: expect.stringContaining(closes) as unknown },
  })
  const page = await fetch(`${service.url}/workers/${alice.address}/statements/2026-10.md`)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(closes)])
  const never = await fetch(`${service.url}/workers/${alice.address}/statements/2026-09.md`)
  expect(never.status).toBe(404)

  await show(1)
  expect(await close()).toBe(0)
  await review()
  expect(await close()).toBe(1)
  const bytes = await bytesOf('2026-10')
  const [summary] = (await list()).statements
  expect(summary).toMatchObject({ month: '2026-10', total_usdc: 10, sha256: sha256Hex(bytes) })
  expect(await list()).toMatchObject({ open_months: [] })
  const entries = (await queued(service)).filter(({ kind }) => kind === 'statement')
  expect(entries).toMatchObject([{ sha256: sha256Hex(bytes), subject: alice.id }])

  expect(await service.getJson(`${base}/2026-10/proof`)).toMatchObject({ status: 404 })
  await publishLog(service.actions, tempFolder())
  const proof = await (await fetch(`${service.url}${base}/2026-10/proof`)).text()
  const [, entry = ''] = /^extra (.*)$/m.exec(proof) ?? []
  expect(Buffer.from(entry, 'base64').toString()).toContain(sha256Hex(bytes))

  expect(await close()).toBe(0)
})

test('a month that ended less than 15 days ago is not stated', async () => {
  await byPlatform({ occurred_at: november })
  at('2026-12-15T23:59:00Z')
  expect(await close()).toBe(0)
  at('2026-12-16T00:00:00Z')
  expect(await close()).toBe(1)
  expect(await statementOf('2026-11')).toMatchObject({ total_usdc: 0, previous: null })
})

test('self-payments, rejected, attested and claimed receipts are listed apart', async () => {
  const good = await paid(1)
  await show(1)
  await paid(2, { from_wallet: alice.address })
  await show(2, { block: 2, from: alice })
  await paid(3, { amount_usdc: 11 })
  await show(3, { block: 3 })
  await byPlatform({ amount_usdc: 4, job_id: 'one' })
  await byWorker({ amount_usdc: 5 })
  await byWorker({ amount_usdc: 6, chain: 'solana', tx_hash: '5'.repeat(88) })
  expect(await close()).toBe(0)
  // Nobody checks Solana, which the next run of the checks notes.
  const { database, clock, random } = service.actions
  const { signal } = new AbortController()
  await checkReceipts({ database, clock, random, fetch, signal, rpcUrls: {} })
  await review()
  expect(await close()).toBe(1)
  const found = await statementOf('2026-10')
  expect(found).toMatchObject({ total_usdc: 10, running_total_usdc: 10, corrections: [] })
  const counts = found.by_verdict.map((row) => [row.verdict, row.receipts, row.amount_usdc])
  expect(counts).toEqual([
    ['on_chain', 1, 10],
    ['linked', 1, 10],
    ['attested', 1, 4],
    ['agreed', 0, 0],
    ['signed_by_the_seller', 0, 0],
    ['claimed', 2, 11],
    ['reversed', 0, 0],
    ['rejected', 1, 11],
  ])
  expect(found.receipts.filter(({ leaf }) => leaf !== undefined)).toMatchObject([
    {
      receipt_id: good,
      payer: payer.address,
      leaf: {
        chain_id: 8453,
        token: usdcOnBase,
        from: payer.id,
        to: alice.id,
        amount_micro_usdc: 10_000_000,
        block_time: Date.parse(october) / 1000,
        tx_hash: hashOf(1),
        log_index: 3,
      },
    },
  ])
  expect(checkStatement(found, 0).filter((one) => !one.good)).toEqual([])
})

test('a reversal, a dispute and a late receipt after the closing are in the next statement', async () => {
  const reversed = await paid(1)
  await show(1)
  const disputed = await byWorker({ amount_usdc: 5 })
  await review()
  expect(await close()).toBe(1)
  const first = await bytesOf('2026-10')

  await show(1, { block: 7, usdc: [] })
  await dispute(disputed)
  const late = await byPlatform({ amount_usdc: 3, job_id: 'late' })
  await paid(2, { occurred_at: november })
  await show(2, { block: 2, time: november })
  await review()
  expect(await close()).toBe(1)

  expect(await bytesOf('2026-10')).toBe(first)
  const next = await statementOf('2026-11')
  expect(next).toMatchObject({
    previous: { month: '2026-10', sha256: sha256Hex(first) },
    total_usdc: 10,
    corrections_usdc: -10,
    running_total_usdc: 10,
  })
  expect(next.receipts.map(({ receipt_id: id }) => id)).toContain(late)
  const month = '2026-10'
  expect(next.corrections).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ receipt_id: reversed, month, was: 'on_chain', is: 'rejected' }),
      expect.objectContaining({ receipt_id: disputed, month, is: 'claimed', dispute: 'open' }),
    ]),
  )
  expect(next.corrections).toHaveLength(2)
  expect(checkStatement(next, 10).filter((one) => !one.good)).toEqual([])
})

test('a payment that is linked to the worker after its statement leaves the running total without a new receipt', async () => {
  const id = await paid(1)
  await show(1)
  await review()
  expect(await close()).toBe(1)
  await link(id, 1)
  expect(await close()).toBe(0)
  expect(await list()).toMatchObject({ open_months: [{ month: '2026-11' }] })
  at('2026-12-16T00:00:00Z')
  expect(await close()).toBe(1)
  const next = await statementOf('2026-11')
  expect(next).toMatchObject({
    receipts: [],
    corrections: [{ receipt_id: id, was: 'on_chain', is: 'linked', change_usdc: -10 }],
    running_total_usdc: 0,
  })
  expect(checkStatement(next, 10).filter((one) => !one.good)).toEqual([])
  at('2027-02-16T00:00:00Z')
  expect(await close()).toBe(0)
  await dispute(id)
  expect(await close()).toBe(1)
  expect((await statementOf('2026-12')).corrections).toMatchObject([{ dispute: 'open' }])
  expect(await close()).toBe(0)
  expect(await list()).toMatchObject({ open_months: [] })
})

test('late receipts that wait for their checks do not hold a correction back, and are stated later', async () => {
  const id = await paid(1)
  await show(1)
  await review()
  expect(await close()).toBe(1)
  await link(id, 1)
  at('2026-12-20T00:00:00Z')
  const late = await paid(2, { occurred_at: november })
  expect(await close()).toBe(1)
  expect(await statementOf('2026-11')).toMatchObject({ receipts: [], running_total_usdc: 0 })
  await show(2, { block: 2, time: november, usdc: [] })
  at('2027-01-16T00:00:00Z')
  expect(await close()).toBe(1)
  expect(await statementOf('2026-12')).toMatchObject({
    receipts: [{ receipt_id: late, verdict: 'rejected' }],
  })
})

test('all payments of a transaction are linked if its payer is', async () => {
  const ids = [await paid(1), await paid(1, { job_id: 'second' })]
  await show(1, { usdc: [10, 10] })
  await link(ids[0] ?? '', 0)
  expect(await close()).toBe(1)
  const { receipts, total_usdc } = await statementOf('2026-10')
  expect(receipts.map(({ verdict }) => verdict)).toEqual(['linked', 'linked'])
  expect(total_usdc).toBe(0)
})

test('an amount that a reorganisation changes after the closing is corrected', async () => {
  const proof = { fromAddress: payer.address, toAddress: alice.address, chainId: 8453 }
  const proof_of_payment = { ...proof, txHash: hashOf(1) }
  await post({ rail: 'x402', occurred_at: october, proof_of_payment })
  await show(1)
  await review()
  expect(await close()).toBe(1)
  await show(1, { block: 7, usdc: 4 })
  at('2026-12-16T00:00:00Z')
  expect(await close()).toBe(1)
  const next = await statementOf('2026-11')
  expect(next).toMatchObject({
    corrections: [{ was: 'on_chain', is: 'on_chain', was_amount_usdc: 10, amount_usdc: 4 }],
    corrections_usdc: -6,
    running_total_usdc: 4,
  })
  expect(checkStatement(next, 10).filter((one) => !one.good)).toEqual([])
})

test('a receipt dated more than a year before it was submitted counts in the month of its submission', async () => {
  await byPlatform({ occurred_at: '1999-05-01T00:00:00.000Z' })
  await byPlatform({ occurred_at: '2025-11-01T00:00:00.000Z' })
  expect(await close()).toBe(0)
  expect(await list()).toMatchObject({ open_months: [{ month: '2026-11' }] })
  at('2026-12-16T00:00:00Z')
  expect(await close()).toBe(1)
  const { receipts } = await statementOf('2026-11')
  expect(receipts).toMatchObject([{ occurred_at: '1999-05-01T00:00:00.000Z' }, {}])
})

test('a month without receipts has no statement, and the next one names the last before it', async () => {
  await byPlatform()
  expect(await close()).toBe(1)
  at('2027-01-05T00:00:00Z')
  await byPlatform({ occurred_at: '2026-12-30T00:00:00.000Z' })
  at('2027-01-16T00:00:00Z')
  expect(await close()).toBe(1)
  expect((await list()).statements.map(({ month }) => month)).toEqual(['2026-10', '2026-12'])
  expect(await statementOf('2026-12')).toMatchObject({ previous: { month: '2026-10' } })
})

test('a saved statement is verified by a command, which finds a changed line', async () => {
  await paid(1)
  await show(1)
  await review()
  await close()
  await publishLog(service.actions, tempFolder())
  const file = join(tempFolder(), 'statement.json')
  const bytes = await bytesOf('2026-10')
  const verify = (text: string) => {
    writeFileSync(file, text)
    const environment = { LEDGER_URL: service.url }
    const deps = { clock: service.clock, fetch }
    return runCommand(['statement', 'verify', file, '--log'], environment, deps)
  }
  const good = await verify(bytes)
  expect(good.out).toContain('good  Merkle root: 0x')
  expect(good.out).toContain('statement')
  expect([good.code, good.err]).toEqual([0, ''])
  const raised = await verify(bytes.replace('"total_usdc":10', '"total_usdc":11'))
  expect(raised.out).toContain('BAD   total: 10 USDC on chain')
  expect(raised.code).toBe(1)
})

test('the CSV counts what the statement counts, and the page says what the statement is not', async () => {
  await paid(1)
  await show(1)
  await byWorker({ amount_usdc: 5 })
  await review()
  await close()
  const csv = await (await fetch(`${service.url}${base}/2026-10.csv`)).text()
  const [head = '', ...lines] = csv
    .trim()
    .split('\r\n')
    .map((line) => line.split(','))
  const counted = lines.map((line) => line[head.indexOf('counted_usdc')])
  expect(counted).toEqual(expect.arrayContaining(['0', '10']))
  const page = `/workers/${alice.address}/statements/2026-10`
  const html = await (await fetch(`${service.url}${page}`)).text()
  const md = await (await fetch(`${service.url}${page}.md`)).text()
  for (const text of [html, md]) {
    expect(text).toContain('no tax document')
    expect(text).toContain((await list()).statements[0]?.sha256)
  }
  const worker = await (await fetch(`${service.url}/workers/${alice.address}.md`)).text()
  expect(worker).toContain(page)
  expect(await service.getJson(page.replace('2026-10', '2026-09'))).toMatchObject({
    status: 404,
  })
})

test('a statement of a demo ledger says so in its JSON and in each line of its CSV', async () => {
  await byWorker({ amount_usdc: 5 })
  await review()
  await close(service.clock, true)
  const json = await fetch(`${service.url}${base}/2026-10`)
  expect(await json.json()).toMatchObject({ demo: true, wallet: alice.address })
  const csv = await (await fetch(`${service.url}${base}/2026-10.csv`)).text()
  expect(csv.split('\r\n')).toEqual([
    expect.stringMatching(/,demo$/),
    expect.stringMatching(/,true$/),
    '',
  ])
})

test('a run that takes too long is continued with the other wallets by the next one', async () => {
  await byWorker()
  await byBob()
  at(november)
  let minutes = 0
  const slow = { ...service.clock, monotonic: () => (minutes += 1) * 60_000 }
  expect([await close(slow), await close(slow), await close(slow)]).toEqual([1, 1, 0])
})

test('the month of a receipt is open as soon as the receipt is accepted', async () => {
  await paid(1)
  expect(await list()).toMatchObject({ count: 0, open_months: [{ month: '2026-10' }] })
})

test('a wallet whose rows are incomplete delays no other wallet', async () => {
  await paid(1)
  await show(1)
  await review()
  await byBob()
  await service.actions.database.write((tx) =>
    tx.updateTable('receipt_checks').set({ payer: null }).execute(),
  )
  await expect(close()).rejects.toThrow('is incomplete')
  const found = await service.getJson(base.replace(alice.address, bob.address))
  expect(found.body).toMatchObject({ count: 1, open_months: [] })
  expect(await list()).toMatchObject({ count: 0, open_months: [{ month: '2026-10' }] })
})
