/** Scores of the known attacks on reputation and of honest workers, by the function of `reputation try`. */
import { expect, test } from 'vitest'

import { tryReputation } from '../../../src/core/reputation/try.ts'
import { dayMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import { randomFrom } from '../../support/random.ts'

const startMs = Date.UTC(2026, 10, 2, 9)
const exchange = { address: 'exchange', listed_hub: true }

type Line = { receipt: object } | { transfer: object } | { wallet: object }

function createFile() {
  const lines: Line[] = []
  let now = startMs
  const at = () => isoTime((now += minuteMs))
  return {
    lines,
    wait: (ms: number) => (now += ms),
    wallet: (facts: object) => lines.push({ wallet: facts }),
    send: (amount_usdc: number, ...path: readonly string[]) => {
      for (const [step, to] of path.slice(1).entries()) {
        lines.push({ transfer: { at: at(), from: path[step], to, amount_usdc } })
      }
    },
    pay: (payer: string, worker: string, amount_usdc: number, evidence = 'onchain') =>
      lines.push({
        receipt: { at: at(), tx: `tx ${lines.length}`, payer, worker, amount_usdc, evidence },
      }),
  }
}

const scoresOf = (lines: readonly object[]) =>
  new Map(
    tryReputation(lines.map((line) => JSON.stringify(line))).map((one) => [one.worker, one.score]),
  )
const scoreIn = (lines: readonly object[]) => scoresOf(lines).get('worker') ?? 0

const payers = (count: number) =>
  Array.from({ length: count }, (_, at) => `payer ${at}`.replace(' ', '-'))

/** The same million circulates over ten payers and the given wallets between them. */
function circle(between: readonly string[]): readonly object[] {
  const file = createFile()
  for (const payer of payers(10)) {
    file.send(1e6, 'worker', ...between, payer)
    file.pay(payer, 'worker', 1e6)
  }
  return file.lines
}

/** Payers whose money comes from an exchange and of which the operator keeps nothing. */
function crowd(
  ageDays: number,
  prepare: (file: ReturnType<typeof createFile>, payer: string) => void,
) {
  const file = createFile()
  file.wallet(exchange)
  for (const payer of payers(200)) {
    file.wallet({ address: payer, age_days: ageDays })
    file.send(100, 'worker', 'exchange', payer)
    prepare(file, payer)
    file.pay(payer, 'worker', 100)
  }
  return file.lines
}

test.each([
  ['directly', []],
  ['over one wallet', ['a']],
  ['over two wallets', ['a', 'b']],
])('a million in a circle over ten payers, %s, earns nothing', (_name, between) => {
  expect(scoreIn(circle(between))).toBe(0)
})

test('a million in a circle over ten payers and three wallets earns at most 50 points', () => {
  const score = scoreIn(circle(['a', 'b', 'c']))
  expect(score).toBeGreaterThan(0)
  expect(score).toBeLessThanOrEqual(50)
})

test('a circle that begins with the money of its operator earns nothing', () => {
  const file = createFile()
  file.send(1e6, 'operator', 'payer-0')
  for (const [at, payer] of payers(10).entries()) {
    file.pay(payer, 'worker', 1e6)
    file.send(1e6, 'worker', 'a', at === 9 ? 'operator' : `payer-${at + 1}`)
  }
  expect(scoreIn(file.lines)).toBe(0)
})

test('200 new payers through an exchange earn at most 50 points', () => {
  expect(scoreIn(crowd(0, () => undefined))).toBe(50)
})

test('ten exchanges that pay a worker earn at most 50 points', () => {
  const file = createFile()
  for (let at = 0; at < 10; at += 1) {
    file.wallet({ address: `exchange-${at}`, listed_hub: true, age_days: 400 })
    file.pay(`exchange-${at}`, 'worker', 10_000)
  }
  expect(scoreIn(file.lines)).toBeLessThanOrEqual(50)
})

test('200 aged payers through an exchange earn 4,400 points', () => {
  const score = scoreIn(crowd(90, () => undefined))
  expect(score).toBeGreaterThan(4300)
  expect(score).toBeLessThanOrEqual(4400)
})

test('200 aged payers that also pay strangers 10 USDC earn 11,000 points', () => {
  const score = scoreIn(
    crowd(90, (file, payer) => {
      for (const [at, amount] of [4, 3, 3].entries()) {
        file.pay(payer, `stranger-${at}`, amount, 'platform')
      }
    }),
  )
  expect(score).toBeGreaterThan(10_700)
  expect(score).toBeLessThanOrEqual(11_000)
})

test('payers with one source of funds count as one payer', () => {
  const file = createFile()
  for (const payer of payers(50)) {
    file.wallet({ address: payer, age_days: 120 })
    file.send(1000, 'source', payer)
    file.pay(payer, 'worker', 1000)
  }
  // One party of 50,000 USDC: 325 points at an independence of 0.4.
  expect(scoreIn(file.lines)).toBeCloseTo(130, 0)
})

/** Workers with customers of all ages, who pay once or often, small and large sums, and are sometimes refunded. */
function market(seed: number): readonly object[] {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const file = createFile()
  file.wallet(exchange)
  const customers = Array.from({ length: 400 }, (_, at) => `customer-${at}`)
  for (const address of customers) {
    file.wallet({ address, age_days: below(4) === 0 ? below(60) : 90 + below(400) })
    file.send(5000, 'exchange', address)
  }
  for (let worker = 0; worker < 150; worker += 1) {
    const typical = 10 ** (0.5 + random() * 1.5)
    for (let count = 1 + below(12); count > 0; count -= 1) {
      const customer = customers[below(customers.length)] ?? ''
      for (let orders = 1 + below(4); orders > 0; orders -= 1) {
        const paid = Math.round(typical * (0.3 + random()) * 100) / 100
        file.pay(customer, `worker-${worker}`, paid, below(3) === 0 ? 'platform' : 'onchain')
        if (below(20) === 0) file.send(paid / 2, `worker-${worker}`, customer)
      }
    }
  }
  return file.lines
}

function ranks(values: readonly number[]): readonly number[] {
  const sorted = values.toSorted((a, b) => a - b)
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2)
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length
  const [meanA, meanB] = [mean(a), mean(b)]
  const products = a.map((one, at) => (one - meanA) * ((b[at] ?? 0) - meanB))
  const spread = (list: readonly number[], middle: number) =>
    Math.sqrt(mean(list.map((one) => (one - middle) ** 2)))
  return mean(products) / (spread(a, meanA) * spread(b, meanB))
}

test.each([1, 2, 3])('honest workers keep the order of their income (seed %i)', (seed) => {
  const lines = market(seed).map((line) => JSON.stringify(line))
  const workers = tryReputation(lines)
  const incomes = workers.map(({ total_usdc: total }) => total)
  const scores = workers.map(({ score }) => score)
  expect(correlation(ranks(scores), ranks(incomes))).toBeGreaterThanOrEqual(0.85)
  expect(workers.flatMap(({ entries }) => entries).length).toBeGreaterThan(2000)
})

test('a little money from a stranger joins no payer to the party of the sender', () => {
  const file = createFile()
  for (const payer of payers(20)) {
    file.wallet({ address: payer, age_days: 365 })
    file.send(0.01, 'sender', payer)
    file.pay(payer, 'worker', 10)
  }
  expect(scoreIn(file.lines)).toBeCloseTo(80, 1)
})

test('a payer that changes its source of funds keeps what it has paid in the quarter', () => {
  const file = createFile()
  file.wallet({ address: 'payer', age_days: 365 })
  file.pay('payer', 'worker', 10_000)
  file.wait(dayMs)
  file.send(20_000, 'source', 'payer')
  file.pay('payer', 'worker', 10_000)
  file.wait(20 * dayMs)
  file.pay('payer', 'worker', 10_000)
  expect(scoreIn(file.lines)).toBeLessThanOrEqual(130)
})

test.each([
  ['{"receipt":', 'is not JSON'],
  ['[]', 'expected object'],
  ['{"receipt":{"at":"yesterday"}}', 'receipt.at: must be an RFC 3339 time'],
  [
    '{"transfer":{"at":"2026-11-02T09:00:00Z","from":"a","to":"b","amount_usdc":-1}}',
    'amount_usdc',
  ],
  ['{"wallet":{"address":"a b"}}', 'without spaces'],
  ['{"wallet":{"address":"a"},"receipt":null}', 'receipt'],
  ['{}', 'must have one member'],
])('the line %s is refused with its number', (line, reason) => {
  const lines = ['{"wallet":{"address":"a"}}', '', line]
  expect(() => tryReputation(lines)).toThrow(/^line 3: /)
  expect(() => tryReputation(lines)).toThrow(reason)
})
