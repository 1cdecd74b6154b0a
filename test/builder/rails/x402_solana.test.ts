import { readFileSync } from 'node:fs'

import { describe, expect, onTestFinished, test } from 'vitest'

import { UnfinishedRead } from '../../../builder/rails/adapter.ts'
import { x402Solana } from '../../../builder/rails/x402_solana.ts'
import type { Backfill } from '../../../src/core/backfill.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import type { Figures } from '../../../src/core/figures.ts'
import { dayMs, hourMs, minuteMs } from '../../../src/core/time.ts'
import { SourceError } from '../../../src/outbound/http.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { volumes } from '../../support/figures.ts'
import { railContext } from '../../support/rail-context.ts'
import { replayModes } from '../../support/replay-server.ts'
import type { ReplayMode } from '../../support/replay-server.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { startSolanaNode } from '../../support/solana-node.ts'
import type { FakeTransaction, FakeTransfer } from '../../support/solana-node.ts'

allowSlowTests('polls months of blocks')

const endMs = Date.UTC(2026, 9, 5)
const [payAi, dexter] = [
  '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
  'DEXVS3su4dZQWTvvPnLDJLRK1CeeKG6K3QqdzthgAkNV',
]

let slots = 400_000_000
function settled(
  beforeEndMs: number,
  transfers: readonly FakeTransfer[],
  more: Partial<FakeTransaction> = {},
): FakeTransaction {
  slots -= 10
  return {
    signature: `sig${slots}`,
    slot: slots,
    atMs: endMs - beforeEndMs,
    feePayer: payAi,
    transfers,
    ...more,
  }
}
const pay = (
  from: string,
  to: string,
  cents: number,
  more: Partial<FakeTransfer> = {},
): FakeTransfer => ({
  from,
  to,
  units: String(cents * 10_000),
  ...more,
})

/** Newest first. Kept over 30 days: 2.00 + 0.50 + 1.00 + 0.25 + 3.25 = 7.00 USDC; over 7 days 2.50. */
const chain: readonly FakeTransaction[] = [
  settled(2 * hourMs, [pay('Buyer1', 'SellerA', 200)], { mentions: [dexter] }),
  settled(dayMs, [pay('Buyer2', 'SellerA', 50, { plain: true })], { feePayer: dexter }),
  settled(2 * dayMs, [pay('Buyer1', 'SellerA', 9900)], { failed: true }),
  settled(3 * dayMs, [pay(payAi, 'SellerA', 700)]),
  settled(4 * dayMs, [pay('SellerB', 'SellerB', 700)]),
  settled(5 * dayMs, [pay(dexter, payAi, 700)]),
  settled(6 * dayMs, [pay('Buyer1', 'SellerA', 10_001)]),
  settled(6 * dayMs + 1, [pay('Buyer1', 'SellerA', 800, { mint: 'OtherMint' })]),
  settled(8 * dayMs, [
    pay('Buyer1', 'SellerB', 100, { inner: true }),
    pay('Buyer3', 'SellerC', 25),
  ]),
  settled(9 * dayMs, [pay('Buyer9', 'SellerZ', 500)], {
    feePayer: 'SomebodyElse',
    mentions: [payAi],
  }),
  settled(20 * dayMs, [pay('buyer1', 'SellerB', 325)]),
  settled(30 * dayMs + minuteMs, [pay('Buyer4', 'SellerD', 600)]),
]

const expected: Figures = {
  ...unknownFigures,
  ...volumes(
    7_000_000,
    2_500_000,
    7_000_000 + 21_000_000 + 100_010_000,
    2_500_000 + 21_000_000 + 100_010_000,
  ),
  uniqueCreators30d: 4,
  uniqueWorkers30d: 3,
  topWorkerShare: 0.607142,
  activity30d: 5,
  lastPayoutAtMs: endMs - 2 * hourMs,
}
const removed = { above_ceiling: 1, between_facilitators: 1, self_payment: 1, signer_is_payer: 1 }

interface Poll {
  readonly mode?: ReplayMode
  readonly atMs?: number
  readonly onBackfill?: (backfill: Backfill | null) => void
}

async function ledger() {
  const database = await tempDatabase()
  const node = await startSolanaNode()
  onTestFinished(() => node.close())
  node.setTransactions(chain)
  return {
    node,
    poll: async ({ mode = 'normal', atMs = endMs, onBackfill }: Poll = {}) => {
      node.setMode(mode)
      const rpcUrl = `${node.url}/v2/key-in-the-path?key=in-the-query`
      const timeoutMs = mode === 'time-out' ? 150 : 10_000
      const { rail } = x402Solana
      return await x402Solana.measure(
        railContext({
          rail,
          endMs: atMs,
          database,
          rpcUrl,
          timeoutMs,
          ...(onBackfill === undefined ? {} : { onBackfill }),
        }),
      )
    },
  }
}

describe('the x402 Solana rail', () => {
  test('x402 on Solana counts transfers in transactions paid by a facilitator, by owner, after its rule', async () => {
    const { measurement } = await (await ledger()).poll()
    expect(measurement.figures).toEqual(expected)
    expect(measurement.removed30d).toEqual(removed)
    expect(measurement.evidence).toEqual([
      {
        kind: 'logs',
        chain: 'solana',
        contract: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
        from_block: chain.at(-2)?.slot,
        to_block: chain[0]?.slot,
        // Two fee payers list the first transaction; the last one is older than the window.
        logs: 12,
      },
    ])
  })

  test('x402 on Solana reads only new transactions in the next poll', async () => {
    const { node, poll } = await ledger()
    await poll()
    const before = node.requests.length
    const newer = settled(-hourMs, [pay('Buyer7', 'SellerC', 75)], { slot: 400_000_100 })
    node.setTransactions([newer, ...chain])
    const { measurement } = await poll({ atMs: endMs + 6 * hourMs })
    expect(measurement.figures).toMatchObject({
      tpv30dMicroUsdc: 7_750_000,
      tpv7dMicroUsdc: 3_250_000,
      activity30d: 6,
      lastPayoutAtMs: endMs + hourMs,
    })
    const transactions = node.requests
      .slice(before)
      .filter(({ body }) => JSON.stringify(body).includes('getTransaction'))
    expect(transactions).toHaveLength(1)
  })

  test('x402 on Solana counts nothing twice where the node lost the last signature', async () => {
    const { node, poll } = await ledger()
    await poll()
    // The newest known transaction is gone from the list, so `until` matches nothing and the node answers everything.
    node.setTransactions(chain.slice(1))
    const { measurement } = await poll()
    expect(measurement.figures).toEqual(expected)
  })

  test('a poll of x402 on Solana that reaches its limit reports its progress, and the next one completes it', async () => {
    const { node, poll } = await ledger()
    const many = Array.from({ length: 2100 }, (_, at) =>
      settled((at + 1) * minuteMs, [pay(`Buyer${at % 7}`, `Seller${at % 3}`, 1)]),
    )
    node.setTransactions(many)
    const backfills: (Backfill | null)[] = []
    const onBackfill = (backfill: Backfill | null) => void backfills.push(backfill)
    await expect(poll({ onBackfill })).rejects.toThrow(UnfinishedRead)
    const [backfill] = backfills
    expect(backfill).toMatchObject({ fromMs: endMs - 30 * dayMs, toMs: endMs })
    // 2,000 minutes of the only address with many transactions; the others are read.
    const unreadMs = 30 * dayMs - 2000 * minuteMs
    expect(backfill?.readUntilMs).toBe(endMs - Math.round(unreadMs / 25))
    const newer = [1, 2, 3].map((at) =>
      settled(-at * minuteMs, [pay('Late', 'Seller0', 1)], { slot: 500_000_000 - at }),
    )
    node.setTransactions([...newer.toReversed(), ...many])
    const second = await poll({ atMs: endMs + hourMs, onBackfill })
    expect(backfills.at(-1)).toBeNull()
    expect(second.measurement.figures).toMatchObject({
      tpv30dMicroUsdc: 2103 * 10_000,
      activity30d: 2103,
      uniqueCreators30d: 8,
      uniqueWorkers30d: 3,
    })
  })

  test('x402 on Solana stores what a failed poll read and counts nothing twice', async () => {
    const { node, poll } = await ledger()
    const cut = chain[10]
    node.setTransactions(
      chain.map((one) => (one === cut ? { ...one, transfers: [pay('x', 'y', -1)] } : one)),
    )
    await expect(poll()).rejects.toThrow('getTransaction: a token transfer has an unexpected field')
    node.setTransactions(chain)
    await expect(poll()).resolves.toMatchObject({ measurement: { figures: expected } })
  })

  describe('answers of a node', () => {
    const nothing: Figures = {
      ...expected,
      ...volumes(0, 0),
      uniqueCreators30d: 0,
      uniqueWorkers30d: 0,
      topWorkerShare: 0,
      activity30d: 0,
      lastPayoutAtMs: null,
    }
    const outcomes: Readonly<Partial<Record<ReplayMode, Figures | RegExp>>> = {
      empty: nothing,
      // Every transfer is of 99 million USDC: the raw volume includes them, the rule removes them all.
      absurd: {
        ...nothing,
        tpv30dRawMicroUsdc: 9 * 99_000_000_000_000,
        tpv7dRawMicroUsdc: 6 * 99_000_000_000_000,
      },
      negative:
        /^getTransaction: a token transfer has an unexpected field (?:amount|tokenAmount\.amount)$/,
      'time-out': /^solana RPC at 127\.0\.0\.1:\d+: no complete response within 0\.15 s$/,
      '500': /^solana RPC at 127\.0\.0\.1:\d+: HTTP 500$/,
      html: /^solana RPC at 127\.0\.0\.1:\d+: answered HTML instead of JSON$/,
      truncated: /^solana RPC at 127\.0\.0\.1:\d+: the JSON is cut off after \d+ bytes$/,
      huge: /^solana RPC at 127\.0\.0\.1:\d+: the answer is larger than 16777216 bytes$/,
    }

    test.each(replayModes)(
      'x402 on Solana yields the expected figures or error for the answer "%s", without a key',
      async (mode) => {
        const { poll } = await ledger()
        const wanted = outcomes[mode] ?? expected
        const polling = poll({ mode })
        if (!(wanted instanceof RegExp)) {
          await expect(polling).resolves.toMatchObject({ measurement: { figures: wanted } })
          return
        }
        const error: unknown = await polling.catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(SourceError)
        expect(error instanceof Error ? error.message : '').toMatch(wanted)
      },
    )
  })
})

test('the list of facilitators has an origin, a licence and 25 fee payers on Solana', () => {
  const path = new URL('../../../builder/rails/x402-facilitators.json', import.meta.url)
  const text = readFileSync(path, 'utf8')
  expect(text).toContain('MIT')
  expect(text.match(/"[1-9A-HJ-NP-Za-km-z]{43,44}"/g)).toHaveLength(25)
})
