/** Repeats the reads of one turn of a poll, with the same lists and memory. */
import type { AdapterContext, AnyRailAdapter } from '../../builder/rails/adapter.ts'
import type { Payout } from '../../builder/rails/payouts.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
import type { RpcClientOptions } from '../../src/chain/json-rpc.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import type { LogInput } from '../../src/core/evidence.ts'
import { UsageError } from './input.ts'

export async function readTurnAgain(
  adapter: AnyRailAdapter,
  logs: readonly LogInput[],
  rpc: string,
  options: RpcClientOptions,
  valueOf: (sha256: string | undefined) => Promise<unknown>,
): Promise<readonly Payout[]> {
  const [first] = logs
  const chain = adapter.chains.find((name) => name === first?.chain)
  if (first === undefined || chain === undefined || chain === 'solana')
    throw new UsageError(`${adapter.rail} is not read from ${first?.chain}`)
  const reader = createChainReader(chain, rpc, options)
  const { lists } = first
  const last = Math.max(...logs.map(({ to }) => to.number))
  const memory = await valueOf(lists['memory'])
  const cursor = {
    block: Math.min(...logs.map(({ from }) => from.number)) - 1,
    lastPayoutAtMs: null,
    memory,
  }
  const payouts: Payout[] = []
  const nothing = () => Promise.resolve()
  const none = { buckets: [], lastPayoutAtMs: null }
  const stream = {
    add: () => undefined,
    save: nothing,
    hours: () => [],
    withPayouts: () => none,
    clear: () => undefined,
  }
  const refuse = (): never => {
    throw new UsageError(`${adapter.rail} is not read from logs alone`)
  }
  const ctx: AdapterContext = {
    window: windowEndingAt(await reader.blockTime(last)),
    http: { json: refuse },
    solana: refuse,
    chain: () => ({ ...reader, settledHead: () => Promise.resolve(last) }),
    payouts: {
      open: async (_stream, _hour, schema) =>
        await Promise.resolve({ ...stream, cursor: () => schema.parse(cursor) }),
    },
    evidence: {
      list: async <List>(name: string, read: () => List | Promise<List>) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the poll packed it
        ((await valueOf(lists[name])) as List | undefined) ?? (await read()),
      addChunk: async (chunk) => await Promise.resolve(void payouts.push(...chunk.payouts)),
      setReading: () => undefined,
    },
    hasNode: () => true,
    past: [],
    backfill: { stored: null, save: nothing },
    isTurnOver: () => false,
    signal: new AbortController().signal,
  }
  await adapter.read(ctx)
  return payouts
}
