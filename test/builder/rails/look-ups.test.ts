/** Look-ups against a node with 160 days of blocks; each request is counted. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseAbi } from 'viem'
import type { Address } from 'viem'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { collectEvidence } from '../../../builder/rails/evidence.ts'
import { withLookUps } from '../../../builder/rails/look-ups.ts'
import { factsOf } from '../../../builder/rails/rail-facts.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { x402 } from '../../../builder/rails/x402.ts'
import { createEvidenceReader, publishedLookUps } from '../../../scripts/cli/recompute/evidence.ts'
import { compareLookUps } from '../../../scripts/cli/recompute/look-ups.ts'
import { createReport } from '../../../scripts/cli/recompute/report.ts'
import { createClient } from '../../../src/client/client.ts'
import { lookUpReading } from '../../../src/core/evidence.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import type { Measurement } from '../../../src/core/figures.ts'
import { seeThroughContracts } from '../../../src/core/rules/contracts.ts'
import { dayMs, hourMs, isoTime, secondMs } from '../../../src/core/time.ts'
import { findEvidence } from '../../../src/db/evidence.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { otherConnection, tempDatabase, tempFolder } from '../../db/temp-database.ts'
import { createFakeNode, sleepingClock } from '../../support/fake-node.ts'
import type { FakeNode } from '../../support/fake-node.ts'
import { serveDuringTest } from '../../support/local-server.ts'
import { quickRequests, railContext } from '../../support/rail-context.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('make hundreds of requests')

const usdc: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const transfers = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])
const endMs = Date.UTC(2026, 9, 31, 12)
const blockMs = 2 * secondMs
const head = 30_000_000
const blocksOf = (days: number) => Math.round((days * dayMs) / blockMs)

function sent(daysAgo: number, from: Address, to: Address, units: number) {
  const args = { from, to, value: BigInt(units) }
  return { block: head - blocksOf(daysAgo), ...logOf(usdc, transfers, 'Transfer', args) }
}
const of = (start: number, count: number) =>
  Array.from({ length: count }, (_, at) => wallet(start + at))

const sybils = of(100, 5)
const customers = of(200, 100)
const workers = of(400, 3)
const [source, exchange, collector, stranger] = [wallet(1), wallet(2), wallet(3), wallet(4)]
const [escrow, multisender, owner] = [wallet(5), wallet(6), wallet(7)]
const contracts: readonly string[] = [collector, escrow, multisender].map((one) =>
  one.toLowerCase(),
)
const payers = [...sybils, ...customers]
/** Sybils pay most, and share one source of funds; the customers use an exchange. */
const amountOf = (payer: number) => 1_000_000 * (payer < sybils.length ? 1000 : 300 - payer)
/** Their receipts are looked up like those of payers. */
const funders = [source, collector]
const daysAgoOf = (payer: number) => 28 - (payer % 25)

interface Payment {
  readonly payer: Address
  readonly payee: Address
  readonly microUsdc: number
  readonly daysAgo: number
}
const payments = payers.map((payer, at): Payment => {
  const payee = workers[at % 3] ?? stranger
  return { payer, payee, microUsdc: amountOf(at), daysAgo: daysAgoOf(at) }
})
const logs = [
  ...payments.map(({ daysAgo, payer, payee, microUsdc }) => sent(daysAgo, payer, payee, microUsdc)),
  ...sybils.map((to, at) => sent(daysAgoOf(at) + 5, source, to, 2 * amountOf(at))),
  ...customers.map((to, at) => sent(daysAgoOf(at + 5) + 20, exchange, to, 500_000_000)),
  // Income of a worker in the month before the window.
  sent(40, customers[5] ?? stranger, workers[0] ?? stranger, 20_000_000),
  // Before the look-back, and a trap without value.
  ...sybils.map((to) => sent(59.5, stranger, to, 9_000_000_000)),
  ...customers.map((to) => sent(3, stranger, to, 0)),
  ...workers.map((from) => sent(2, from, collector, 8_000_000_000)),
  ...sybils.map((to) => sent(1, collector, to, 100_000_000)),
  ...of(1000, 210).flatMap((to) =>
    [0.01, 45.01, 91.01].map((daysAgo) => sent(daysAgo, exchange, to, 5_000_000)),
  ),
]

let database: OpenDatabase
let node: FakeNode
beforeEach(async () => {
  database = await tempDatabase()
  node = startNode()
})

function startNode(maxLogs?: number, more: typeof logs = []): FakeNode {
  return createFakeNode({
    clock: sleepingClock(endMs),
    chainId: 8453,
    head,
    blockMs,
    logs: [...logs, ...more],
    code: (address) => (contracts.includes(address) ? '0x60' : '0x'),
    ...(maxLogs === undefined ? {} : { maxLogs }),
  })
}

function measured(atMs: number, from: readonly Payment[]): Measurement {
  const pairs = from.map(({ daysAgo, payer, payee, microUsdc }) => {
    const day = Math.floor((endMs - daysAgo * dayMs) / dayMs)
    return { day, payer, payee, count: 1, microUsdc, largestMicroUsdc: microUsdc }
  })
  const toBlock = head + Math.floor((atMs - endMs) / blockMs)
  return {
    figures: unknownFigures,
    removed30d: {},
    notes: [],
    evidence: [
      { kind: 'logs', chain: 'base', contract: usdc, from_block: 1, to_block: toBlock, logs: 1 },
    ],
    facts: { ...factsOf([], windowEndingAt(atMs)), pairs },
  }
}

async function lookUpAt(
  atMs: number,
  {
    from = payments,
    isTurnOver = () => false,
    hasNode = true,
  }: { from?: readonly Payment[]; isTurnOver?: () => boolean; hasNode?: boolean } = {},
) {
  const collector = collectEvidence('x402', windowEndingAt(atMs))
  const { fetch, url: rpcUrl } = node
  const rail = railContext({ rail: 'x402', endMs: atMs, database, fetch, rpcUrl, hasNode })
  const ctx = { ...rail, evidence: collector }
  const { evidence } = ctx
  const { facts, notes } = await withLookUps({ ...ctx, isTurnOver }, 'base', measured(atMs, from))
  if (facts === undefined) throw new Error('no facts')
  return { ...facts, evidence, note: notes.join(' ') }
}

const folder = mkdtempSync(join(tmpdir(), 'ledger-look-ups-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const polled = join(folder, 'polled.db')

/** Returns the first poll, after which the database is kept for other tests. */
async function firstPoll() {
  const result = await lookUpAt(endMs)
  if (database.path !== null) {
    const connection = await otherConnection(database.path)
    await connection.exec(`vacuum into '${polled}'`)
  }
  return result
}

async function afterFirstPoll(): Promise<void> {
  if (!existsSync(polled)) await firstPoll()
  if (database.path === null) return
  const url = join(tempFolder(), 'ledger.db')
  copyFileSync(polled, url)
  database = await tempDatabase({ url })
}

const methods = () => {
  const count = (method: string) => node.answered.filter((answered) => answered === method).length
  return { logs: count('eth_getLogs'), code: count('eth_getCode'), all: node.answered.length }
}

/** Block ranges of the answered requests for transfers into the payers, in order. */
function rangesIntoPayers() {
  const payer = (payers[0] ?? stranger).slice(2).toLowerCase()
  return node.ranges
    .filter(({ topics }) => JSON.stringify(topics[2] ?? null).includes(payer))
    .map(({ from, to }) => ({ from, to }))
    .toSorted((a, b) => a.from - b.from)
}

/** Expects every block from the first to the last once. */
function expectWhole(ranges: readonly { from: number; to: number }[], first: number, last: number) {
  let next = first
  for (const { from, to } of ranges) {
    expect(from).toBe(next)
    next = to + 1
  }
  expect(next).toBe(last + 1)
}

const chunk = 9000
/** Later polls read the half hour before the head. */
const last = head - 900
const inChunks = (days: number) => Math.ceil(blocksOf(days) / chunk)

test('the first poll reads 30 days before the first payment, also of funders, and tests wallets that link others', async () => {
  const { lookedUp, wallets } = await firstPoll()
  expect(lookedUp?.payers.size).toBe(payers.length + funders.length)
  expect([...(lookedUp?.payees ?? [])]).toEqual([...workers, collector])
  expect([...wallets.keys()].toSorted()).toEqual([source, exchange, collector])
  expect(wallets.get(exchange)).toMatchObject({ listedHub: false, contract: false, ageDays: 91 })
  expect(wallets.get(exchange)?.recipients).toBeGreaterThanOrEqual(210)
  expect(wallets.get(source)).toMatchObject({ ageDays: 0, recipients: 0 })
  expect(wallets.get(collector)?.contract).toBe(true)
  // Days are counted from their midnight, which is half a day earlier here.
  const forPayersAndPayees = inChunks(30) + 2 * inChunks(28.5)
  const forTheCollector = Math.ceil((blocksOf(30) + 1 - (head - last)) / chunk)
  const forTheFunders = Math.ceil((blocksOf(60) + 1 - (head - last)) / chunk)
  expect(methods().logs).toBe(forPayersAndPayees + forTheCollector + forTheFunders + 5)
  expect(methods().logs).toBeLessThanOrEqual(864 + 6)
  expect(methods().code).toBe(3)
  expectWhole(rangesIntoPayers(), head - blocksOf(58.5), last)
})

test('transfers count once, whichever wallet was looked up first', async () => {
  await afterFirstPoll()
  const { transfers: found } = await lookUpAt(endMs + 6 * hourMs)
  const sum = (sender: Address) =>
    found.filter(({ from }) => from === sender).reduce((total, flow) => total + flow.microUsdc, 0)
  expect(sum(source)).toBe(2 * 5 * 1_000_000_000)
  expect(sum(collector)).toBe(5 * 100_000_000)
  expect(sum(exchange)).toBe(customers.length * 500_000_000)
  expect(workers.map(sum)).toEqual([8_000_000_000, 8_000_000_000, 8_000_000_000])
  expect(sum(stranger)).toBe(0)
  expect(sum(payers[0] ?? stranger)).toBe(0)
})

test('income before the window does not count as funding of a worker who buys', async () => {
  const [worker, seller] = workers
  if (worker === undefined || seller === undefined) throw new Error('no workers')
  const bought = { payer: worker, payee: seller, microUsdc: 40_000_000, daysAgo: 5 }
  const { transfers: found, lookedUp } = await lookUpAt(endMs, { from: [...payments, bought] })
  expect(lookedUp?.payers.has(worker)).toBe(true)
  expect(found.filter(({ to }) => to === worker)).toEqual([])
})

test('what the polls of nine days know follows from the lines of their look-ups', async () => {
  for (const days of [9, 7.5, 1]) {
    const from = payments.filter(({ daysAgo }) => daysAgo > days)
    await lookUpAt(endMs - days * dayMs, { from })
  }
  const { evidence, transfers: derived, wallets, lookedUp } = await lookUpAt(endMs)
  expect(lookedUp?.payers.size).toBeGreaterThan(50)
  const found = { transfers: derived, wallets, lookedUp }
  await evidence.list('looked_up', () => found)
  const poll = { at: isoTime(endMs), outcome: 'ok', rule: '', figures: null, counters: {} }
  const judged = { basis: 'payments', former: null, status: 'paying' }
  const sha256 = await database.write(async (tx) => evidence.save(tx, { ...poll, ...judged }))
  const url = await serveDuringTest((request, response) => {
    const name = request.url?.match(/[0-9a-f]{64}/)?.[0] ?? ''
    void findEvidence(database.reader, name).then((body) => response.end(body))
  })
  const client = createClient({ baseUrl: url, serviceName: 'x', ...quickRequests() })
  const reader = createEvidenceReader(client.call)
  const report = createReport(false)
  const lookUps = await publishedLookUps([await reader.bundle(sha256)], reader)
  const recomputation = { adapter: x402, lookUps, report }
  expect(compareLookUps(recomputation, measured(endMs, payments))).toEqual(found)
  expect(report.findings.filter(({ good }) => !good)).toEqual([])
  const details = report.findings.map(({ detail }) => detail).join('\n')
  expect(details).toContain('16 of the largest payers wait or were left out')
})

test('later polls read the new blocks in whole chunks: at most 15 requests a day', async () => {
  await afterFirstPoll()
  const before = methods().all
  for (let poll = 1; poll <= 4; poll += 1) await lookUpAt(endMs + poll * 6 * hourMs)
  // 4 whole chunks, for payers and for payees, and the identity of the chain for each poll.
  expect(methods().all - before).toBe(4 + 2 * 4)
})

test('after a long pause a poll makes 144 requests for new blocks and notes the last one, and the next polls read the rest', async () => {
  const from = payments.slice(0, 3)
  await lookUpAt(endMs - 40 * dayMs, { from })
  const before = methods().all
  const { note } = await lookUpAt(endMs, { from })
  expect(note).toMatch(/The transfers after block \d+ are not read yet\./)
  expect(methods().all - before).toBeLessThanOrEqual(144 + 16)
  await lookUpAt(endMs, { from })
  expect((await lookUpAt(endMs, { from })).note).not.toContain('not read yet')
  const [first, ...later] = rangesIntoPayers()
  expectWhole(later, (first?.to ?? 0) + 1, later.at(-1)?.to ?? 0)
  expect(later.at(-1)?.to).toBeGreaterThan(head - chunk)
})

test('a restart continues the look-ups where they stopped, and reads no block twice', async () => {
  let turns = 0
  const cut = await lookUpAt(endMs, { isTurnOver: () => (turns += 1) > 100 })
  expect(cut.lookedUp?.payers.size).toBe(0)
  expect(methods().logs).toBeLessThan(150)
  const { lookedUp, note } = await lookUpAt(endMs)
  expect(lookedUp?.payers.size).toBe(payers.length + funders.length)
  expect(note).not.toContain('next polls')
  expectWhole(rangesIntoPayers(), head - blocksOf(58.5), last)
})

test('transfers to a payer who returns after a pause of 65 days count once', async () => {
  const [regular, returning] = [payments[0], wallet(800)]
  if (regular === undefined) throw new Error('no payments')
  node = startNode(undefined, [sent(25, source, returning, 7_000_000)])
  const paid = (daysAgo: number): Payment => {
    return { payer: returning, payee: wallet(801), microUsdc: 5_000_000, daysAgo }
  }
  await lookUpAt(endMs - 68 * dayMs, { from: [paid(69)] })
  for (const days of [40, 20, 20, 4, 4, 3, 3])
    await lookUpAt(endMs - days * dayMs, { from: [{ ...regular, daysAgo: days + 1 }] })
  for (const days of [0, 1, 2]) await lookUpAt(endMs + days * dayMs, { from: [paid(1)] })
  const { transfers: found, lookedUp } = await lookUpAt(endMs + 3 * dayMs, { from: [paid(1)] })
  expect(lookedUp?.payers.has(returning)).toBe(true)
  expect(found.filter(({ to }) => to === returning)).toMatchObject([{ microUsdc: 7_000_000 }])
})

test('look-backs of new payers make at most 144 requests a day', async () => {
  await afterFirstPoll()
  const before = methods().all
  const newcomers = of(600, 10).map((payer): Payment => ({
    payer,
    payee: stranger,
    microUsdc: 5_000_000_000,
    daysAgo: 0,
  }))
  const from = [...payments, ...newcomers]
  const cut = await lookUpAt(endMs + 24 * hourMs, { from })
  expect(cut.note).toContain('The next polls look up 11 more.')
  expect(cut.lookedUp?.payers.size).toBe(payers.length + funders.length)
  expect(methods().all - before).toBeLessThanOrEqual(144 + 16)
  const next = await lookUpAt(endMs + 48 * hourMs, { from })
  expect(next.lookedUp?.payers.size).toBe(payers.length + funders.length + 10)
})

test('what a contract receives is read if it is a payer or funds payers, and the rules see its senders', async () => {
  const [depositors, funded] = [of(700, 6), of(710, 5)]
  const paidBy = (payer: Address, microUsdc: number): Payment => {
    return { payer, payee: workers[0] ?? stranger, microUsdc, daysAgo: 10 }
  }
  const from = [paidBy(escrow, 60_000_000), ...funded.map((payer) => paidBy(payer, 90_000_000))]
  const more = [
    ...depositors.map((depositor) => sent(12, depositor, escrow, 10_000_000)),
    ...funded.map((payer) => sent(12, multisender, payer, 100_000_000)),
    sent(12, owner, multisender, 500_000_000),
  ]
  node = startNode(undefined, more)
  const facts = await lookUpAt(endMs, { from })
  const sentTo = (contract: Address) =>
    facts.transfers.filter(({ to }) => to === contract).map((one) => one.from)
  expect(sentTo(escrow)).toEqual(depositors)
  expect(sentTo(multisender)).toEqual([owner])
  for (const contract of [escrow, multisender]) {
    expect(facts.wallets.get(contract)?.contract).toBe(true)
    expect(facts.lookedUp?.payers.has(contract)).toBe(true)
  }
  const seen = seeThroughContracts(facts)
  expect(seen.payments.map((payment) => payment.from)).toEqual([...depositors, ...funded])
  expect(
    new Set(
      seen.transfers
        .filter(({ to }) => funded.some((payer) => payer === to))
        .map((one) => one.from),
    ),
  ).toEqual(new Set([owner]))
})

test.each([
  [5000, true],
  [5001, false],
])('of a look-up with %d transfers, the lines are published: %s', async (count, isPublished) => {
  const evidence = collectEvidence('x402', windowEndingAt(endMs))
  const found = of(1, 1).flatMap((payer) =>
    Array.from({ length: count }, (_, logIndex) => {
      return { atMs: endMs, block: 1, logIndex, payer, payee: stranger, units: 1n, microUsdc: 1 }
    }),
  )
  const wallets = { into: [stranger], outOf: [] }
  await database.write(
    evidence.addLookUp({ chain: 'base', wallets, from: 1, to: 1, head: 1 }, found),
  )
  const bundle = await database.write(async (tx) => await evidence.save(tx, {}))
  const load = async (sha256: string) =>
    z.unknown().parse(JSON.parse((await findEvidence(database.reader, sha256)) ?? 'null'))
  const { look_ups } = z.object({ look_ups: z.string() }).parse(await load(bundle))
  const [reading] = z.array(lookUpReading).parse(await load(look_ups))
  expect(reading?.count).toBe(count)
  expect(reading?.rows !== null).toBe(isPublished)
})

test('a wallet with more transfers in a sample than a node lists is a hub', async () => {
  node = startNode(200)
  const { wallets } = await lookUpAt(endMs)
  expect(wallets.get(exchange)).toMatchObject({ ageDays: 91, recipients: 10_000 })
})

test('without a node of the operator nothing is looked up, and the notes say so', async () => {
  const { lookedUp, note } = await lookUpAt(endMs, { hasNode: false })
  expect(lookedUp).toBeNull()
  expect(note).toBe(
    'The funders of payers are not looked up: no node is configured for base (RPC_URL_BASE).',
  )
  expect(methods().all).toBe(0)
})

test('a node that fails ends the look-ups with a note, and the next poll continues', async () => {
  node.stop()
  const { lookedUp, note } = await lookUpAt(endMs)
  expect(lookedUp?.payers.size).toBe(0)
  expect(note).toMatch(
    /The look-ups ended early: base RPC at 127\.0\.0\.1:\d+: the connection was refused/,
  )
  node = startNode()
  expect((await lookUpAt(endMs)).lookedUp?.payers.size).toBe(payers.length + funders.length)
})
