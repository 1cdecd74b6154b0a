import { parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { selectors } from '../../../builder/chain/logs.ts'
import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import { aggregateLogs } from '../../../builder/rails/aggregated-logs.ts'
import { collectEvidence } from '../../../builder/rails/evidence.ts'
import { payoutAt, totalsOf } from '../../../builder/rails/payouts.ts'
import { unpack } from '../../../src/core/evidence.ts'
import { dayMs, hourMs, minuteMs } from '../../../src/core/time.ts'
import { findEvidence } from '../../../src/db/evidence.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { railContext } from '../../support/rail-context.ts'
import type { RailContextOptions } from '../../support/rail-context.ts'
import { proxyDuringTest, rangeOf, rpcError } from '../../support/rpc-proxy.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'

const events = parseAbi(['event Paid(address indexed to, uint256 amount)'])
const contract = wallet(1)
const payments = 90
/** Payment n is of n units; this is its age at the end. */
const agoMs = (at: number): number => (payments + 1 - at) * 7 * hourMs + 11 * minuteMs
const total = (payments * (payments + 1)) / 2

const paid = (to: number, units: number) =>
  logOf(contract, events, 'Paid', { to: wallet(to), amount: BigInt(units) })

const chain = useRailChain('base', [contract], async (anvil) => {
  for (let at = 1; at <= payments; at += 1) {
    await anvil.block(endMs - agoMs(at), [paid(at, at)])
  }
})

async function contextOf(options: Partial<RailContextOptions> = {}): Promise<AdapterContext> {
  const database = options.database ?? (await tempDatabase())
  const { url: rpcUrl } = chain.anvil()
  return railContext({ rail: 'r', endMs, rpcUrl, ...options, database })
}

/** The same payments in two streams, with one remembered value per chunk. */
async function read(ctx: AdapterContext, chunkBlocks = 2) {
  const aggregated = await aggregateLogs(ctx, {
    chain: 'base',
    streams: { one: 'unpriced', two: 'unpriced' },
    abi: events,
    filters: [{ addresses: [contract], topics: [selectors(events)] }],
    chunkBlocks,
    toPayouts: ({ logs, fromBlock }) => ({
      payouts: logs.flatMap((log) => {
        const { to, amount } = log.event.args
        const payout = payoutAt(log, null, to, { units: amount })
        return [['one', payout] as const, ['two', payout] as const]
      }),
      remember: new Map([[`chunk ${fromBlock}`, fromBlock]]),
    }),
  })
  const [one, two] = [aggregated.streams.one, aggregated.streams.two]
  const sums = [one, two].map(
    ({ buckets }) => totalsOf(buckets, ctx.window.start30dMs, ctx.window.endMs).keptUnits,
  )
  const { evidence, notes } = aggregated
  return { sums, lastPayoutAtMs: one.lastPayoutAtMs, evidence, notes }
}

describe('aggregated logs', () => {
  test('aggregated logs contain every payment once, with the blocks that were read as evidence', async () => {
    const { sums, lastPayoutAtMs, evidence } = await read(await contextOf())
    expect(sums).toEqual([BigInt(total), BigInt(total)])
    expect(lastPayoutAtMs).toBe(endMs - agoMs(payments))
    const range = { from_block: 1, to_block: payments + 1, logs: payments }
    expect(evidence).toEqual([{ kind: 'logs', chain: 'base', contract, ...range }])
  })

  test('aggregated logs resume after a failure of the node, with the same sums', async () => {
    const database = await tempDatabase()
    const proxy = await proxyDuringTest(chain.anvil().url, {
      instead: (request) =>
        (rangeOf(request)?.from ?? 0) > 70
          ? rpcError(request, -32000, 'header not found')
          : undefined,
    })
    const broken = await contextOf({ database, rpcUrl: proxy.url })
    await expect(read(broken)).rejects.toThrow('header not found')
    const watched = await proxyDuringTest(chain.anvil().url)
    const { sums } = await read(await contextOf({ database, rpcUrl: watched.url }))
    expect(sums).toEqual([BigInt(total), BigInt(total)])
    expect(Math.min(...watched.ranges().map(({ from }) => from))).toBe(71)
  })

  test('aggregated logs have the same sums after a crash while a chunk is saved', async () => {
    const database = await tempDatabase()
    const ctx = await contextOf({ database })
    let saves = 0
    const crashing: AdapterContext = {
      ...ctx,
      payouts: {
        ...ctx.payouts,
        open: async (name, fromHour, schema) => {
          const stream = await ctx.payouts.open(name, fromHour, schema)
          const save: typeof stream.save = async (cursor, tx) => {
            saves += 1
            if (saves >= 4) throw new Error('power cut')
            await stream.save(cursor, tx)
          }
          return { ...stream, save }
        },
      },
    }
    await expect(read(crashing)).rejects.toThrow('power cut')
    expect((await read(ctx)).sums).toEqual([BigInt(total), BigInt(total)])
  })

  test('the newest payment is dated by its block header where other times are interpolated', async () => {
    const database = await tempDatabase()
    const proxy = await proxyDuringTest(chain.anvil().url, {
      change: (request, answer) =>
        request.method === 'eth_getLogs'
          ? answer.replaceAll(/,"blockTimestamp":"0x[0-9a-f]+"/g, '')
          : answer,
    })
    const { lastPayoutAtMs } = await read(await contextOf({ database, rpcUrl: proxy.url }), 1000)
    expect(lastPayoutAtMs).toBe(endMs - agoMs(payments))
  })

  test('aggregated logs keep hours older than 31 days, and the time of the last payment', async () => {
    const database = await tempDatabase()
    await read(await contextOf({ database }))
    const snapshot = await chain.anvil().rpc('evm_snapshot', [])
    const laterMs = endMs + 60 * dayMs
    await chain.settle(laterMs)
    const ctx = await contextOf({ endMs: laterMs, database })
    const { sums, lastPayoutAtMs } = await read(ctx)
    await chain.anvil().rpc('evm_revert', [snapshot])
    expect(sums).toEqual([0n, 0n])
    expect(lastPayoutAtMs).toBe(endMs - agoMs(payments))
    const cursor = z.looseObject({ lastPayoutAtMs: z.number().nullable() })
    expect((await ctx.payouts.open('one', 0, cursor)).hours()).toHaveLength(payments)
  })

  test('logs read in two polls have the evidence of both: filters, lines and memory', async () => {
    const database = await tempDatabase()
    const turn = { ...(await contextOf({ database })), isTurnOver: () => true }
    await expect(read(turn, 50)).rejects.toThrow('other rails are waiting')
    const evidence = collectEvidence('r', turn.window)
    await read({ ...(await contextOf({ database })), evidence }, 50)
    const sha256 = await database.write((tx) => evidence.save(tx, {}))
    const valueOf = async (name: string) =>
      unpack((await findEvidence(database.reader, name)) ?? '{}', new Map())
    const inputs = z
      .array(z.looseObject({ filters: z.string(), rows: z.string(), lists: z.json() }))
      .parse(z.looseObject({ inputs: z.unknown() }).parse(await valueOf(sha256)).inputs)
    const remembered = []
    for (const { filters, rows, lists } of inputs) {
      expect(await valueOf(filters)).toMatchObject([{ addresses: [contract] }])
      expect(await valueOf(rows)).not.toEqual([])
      remembered.push(await valueOf(z.object({ memory: z.string() }).parse(lists).memory))
    }
    expect(remembered).toEqual([[], ['chunk 1']])
  })

  describe('newest blocks', () => {
    const lateMs = endMs + hourMs
    const pay = async (units: number, settledMs: number) => {
      await chain.anvil().block(lateMs, [paid(1, units)])
      await chain.settle(settledMs)
    }
    const changed = (missed: number, gone: number): unknown =>
      expect.stringContaining(
        `missed by the poll before: ${missed}. Events that are gone: ${gone}.`,
      )

    async function polls() {
      const database = await tempDatabase()
      return async (atMs: number, rpcUrl = chain.anvil().url) => {
        const ctx = await contextOf({ database, endMs: atMs, rpcUrl })
        const { sums, notes } = await read(ctx, 100)
        expect(sums[1]).toBe(sums[0])
        return { more: Number(sums[0]) - total, notes }
      }
    }

    test('the logs of 100 blocks that a node hides for one poll are in the next poll', async () => {
      await chain.undone(async () => {
        const poll = await polls()
        await pay(1000, lateMs + 2 * minuteMs)
        const list = z.array(z.looseObject({ blockNumber: z.string() }))
        const { url } = await proxyDuringTest(chain.anvil().url, {
          change: (request, answer) => {
            if (request.method !== 'eth_getLogs') return answer
            const { result, ...rest } = z
              .looseObject({ result: z.unknown() })
              .parse(JSON.parse(answer))
            const shown = list
              .parse(result)
              .filter(({ blockNumber }) => Number(blockNumber) <= payments + 1)
            return JSON.stringify({ ...rest, result: shown })
          },
        })
        expect(await poll(lateMs + 2 * minuteMs, url)).toEqual({ more: 0, notes: [] })
        await chain.settle(lateMs + 20 * minuteMs)
        expect(await poll(lateMs + 20 * minuteMs)).toEqual({ more: 1000, notes: [changed(1, 0)] })
        await chain.settle(lateMs + 2 * hourMs)
        expect(await poll(lateMs + 2 * hourMs)).toEqual({ more: 1000, notes: [] })
      })
    })

    test('payments of reorganised blocks are replaced in the next poll', async () => {
      const poll = await polls()
      await chain.undone(async () => {
        await pay(1000, lateMs + 2 * minuteMs)
        expect(await poll(lateMs + 2 * minuteMs)).toEqual({ more: 1000, notes: [] })
      })
      await chain.undone(async () => {
        await pay(7, lateMs + 20 * minuteMs)
        expect(await poll(lateMs + 20 * minuteMs)).toEqual({ more: 7, notes: [changed(1, 1)] })
      })
    })

    test('two polls fail once blocks before those are reorganised, and the next reads the whole window', async () => {
      const poll = await polls()
      await chain.undone(async () => {
        await pay(1000, lateMs + hourMs)
        expect((await poll(lateMs + hourMs)).more).toBe(1000)
      })
      await chain.undone(async () => {
        await pay(7, lateMs + hourMs)
        for (const next of ['checks it again', 'reads the whole window again']) {
          await expect(poll(lateMs + hourMs)).rejects.toThrow(`the next poll ${next}`)
        }
        expect(await poll(lateMs + hourMs)).toEqual({ more: 7, notes: [] })
      })
    })
  })

  test('aggregated logs are refused from a node that is behind', async () => {
    const ctx = await contextOf({ endMs: endMs + 3 * hourMs })
    await expect(read(ctx)).rejects.toThrow(
      /base RPC is behind: its settled block \d+ is 181 minutes old/,
    )
  })
})
