import { parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { chains } from '../../../builder/chain/chains.ts'
import { selectors } from '../../../builder/chain/logs.ts'
import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import { aggregateLogs } from '../../../builder/rails/aggregated-logs.ts'
import { totalsOf } from '../../../builder/rails/payouts.ts'
import type { Payout } from '../../../builder/rails/payouts.ts'
import { dayMs, hourMs, minuteMs } from '../../../src/core/time.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { startAnvil } from '../../support/anvil.ts'
import type { Anvil } from '../../support/anvil.ts'
import { railContext } from '../../support/rail-context.ts'
import { rangeOf, rpcError, startRpcProxy } from '../../support/rpc-proxy.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts anvil')

const events = parseAbi(['event Paid(address indexed to, uint256 amount)'])
const contract = wallet(1)
const endMs = Date.UTC(2026, 9, 31, 12)
const payments = 90
/** Payment n, of n units, is made so long before the end. */
const agoMs = (at: number): number => (payments + 1 - at) * 7 * hourMs + 11 * minuteMs
const total = (payments * (payments + 1)) / 2

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil(chains.base.chainId, endMs - 40 * dayMs)
  await anvil.place(contract)
  for (let at = 1; at <= payments; at += 1) {
    await anvil.block(endMs - agoMs(at), [
      logOf(contract, events, 'Paid', { to: wallet(at), amount: BigInt(at) }),
    ])
  }
  await anvil.settle(chains.base.settleBlocks + 1, endMs)
})
afterAll(async () => await anvil.stop())

/** The same payments in two streams, with one thing remembered per chunk. */
async function read(ctx: AdapterContext, chunkBlocks = 2) {
  const aggregated = await aggregateLogs(ctx, {
    chain: 'base',
    streams: ['one', 'two'],
    abi: events,
    filters: [{ addresses: [contract], topics: [selectors(events)] }],
    chunkBlocks,
    toPayouts: async ({ logs, fromBlock }) => {
      const payouts = logs.map(({ event: { args }, atMs, block }): Payout => {
        const payee = args.to.toLowerCase()
        return {
          atMs,
          block,
          payer: null,
          payee,
          units: args.amount,
          microUsdc: 0,
          removedBy: null,
        }
      })
      await Promise.resolve()
      return { payouts: { one: payouts, two: payouts }, remember: [`chunk ${fromBlock}`] }
    },
  })
  const [one, two] = [aggregated.stream('one'), aggregated.stream('two')]
  const sums = [one, two].map(
    ({ buckets }) => totalsOf(buckets, ctx.window.start30dMs, endMs).keptUnits,
  )
  return { sums, lastPayoutAtMs: one.lastPayoutAtMs, evidence: aggregated.evidence }
}

describe('aggregated logs', () => {
  test('hold every payment once and say which blocks were read', async () => {
    const database = await tempDatabase()
    const { sums, lastPayoutAtMs, evidence } = await read(
      railContext({ rail: 'r', endMs, database, rpcUrl: anvil.url }),
    )
    expect(sums).toEqual([BigInt(total), BigInt(total)])
    expect(lastPayoutAtMs).toBe(endMs - agoMs(payments))
    const range = { fromBlock: 1, toBlock: payments + 1, logs: payments }
    expect(evidence).toEqual([{ kind: 'logs', chain: 'base', contract, ...range }])
  })

  test('go on after a node that failed half way, with the same sums', async () => {
    const database = await tempDatabase()
    const proxy = await startRpcProxy(anvil.url, {
      instead: (request) =>
        (rangeOf(request)?.from ?? 0) > 70
          ? rpcError(request, -32000, 'header not found')
          : undefined,
    })
    const broken = railContext({ rail: 'r', endMs, database, rpcUrl: proxy.url })
    await expect(read(broken)).rejects.toThrow('header not found')
    await proxy.stop()
    const watched = await startRpcProxy(anvil.url)
    const { sums } = await read(railContext({ rail: 'r', endMs, database, rpcUrl: watched.url }))
    await watched.stop()
    expect(sums).toEqual([BigInt(total), BigInt(total)])
    expect(Math.min(...watched.ranges().map(({ from }) => from))).toBe(71)
  })

  test('are the same after a crash between the saves of two streams', async () => {
    const database = await tempDatabase()
    const ctx = railContext({ rail: 'r', endMs, database, rpcUrl: anvil.url })
    let saves = 0
    const crashing: AdapterContext = {
      ...ctx,
      payouts: {
        ...ctx.payouts,
        save: async (...args) => {
          saves += 1
          if (saves >= 4) throw new Error('power cut')
          await ctx.payouts.save(...args)
        },
      },
    }
    await expect(read(crashing)).rejects.toThrow('power cut')
    expect((await read(ctx)).sums).toEqual([BigInt(total), BigInt(total)])
  })

  test('are not asked for again when nothing is new', async () => {
    const database = await tempDatabase()
    await read(railContext({ rail: 'r', endMs, database, rpcUrl: anvil.url }))
    const proxy = await startRpcProxy(anvil.url)
    const { sums } = await read(railContext({ rail: 'r', endMs, database, rpcUrl: proxy.url }))
    await proxy.stop()
    expect(sums).toEqual([BigInt(total), BigInt(total)])
    expect(proxy.ranges()).toEqual([])
  })

  test('name the newest payment by the header of its block, also where times are interpolated', async () => {
    const database = await tempDatabase()
    const proxy = await startRpcProxy(anvil.url, {
      change: (request, answer) =>
        request.method === 'eth_getLogs'
          ? answer.replaceAll(/,"blockTimestamp":"0x[0-9a-f]+"/g, '')
          : answer,
    })
    const { lastPayoutAtMs } = await read(
      railContext({ rail: 'r', endMs, database, rpcUrl: proxy.url }),
      1000,
    )
    await proxy.stop()
    expect(lastPayoutAtMs).toBe(endMs - agoMs(payments))
  })

  test('drop hours older than 31 days and keep the time of the last payment', async () => {
    const database = await tempDatabase()
    await read(railContext({ rail: 'r', endMs, database, rpcUrl: anvil.url }))
    const snapshot = await anvil.rpc('evm_snapshot', [])
    const laterMs = endMs + 60 * dayMs
    await anvil.settle(chains.base.settleBlocks + 1, laterMs)
    const ctx = railContext({ rail: 'r', endMs: laterMs, database, rpcUrl: anvil.url })
    const { sums, lastPayoutAtMs } = await read(ctx)
    await anvil.rpc('evm_revert', [snapshot])
    expect(sums).toEqual([0n, 0n])
    expect(lastPayoutAtMs).toBe(endMs - agoMs(payments))
    expect((await ctx.payouts.load('one', 0, (json) => json)).buckets).toEqual([])
  })

  test('refuse a node that stands still instead of calling old figures fresh', async () => {
    const database = await tempDatabase()
    const ctx = railContext({ rail: 'r', endMs: endMs + 3 * hourMs, database, rpcUrl: anvil.url })
    await expect(read(ctx)).rejects.toThrow(
      /base RPC is behind: its settled block \d+ is 181 minutes old/,
    )
  })
})
