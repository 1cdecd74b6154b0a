/** A chain with the logs of a rail, and polls of the rail. */
import type { Address } from 'viem'
import { beforeAll } from 'vitest'

import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { dayMs } from '../../src/core/time.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { startAnvil } from './anvil.ts'
import type { Anvil } from './anvil.ts'
import { filledByHook } from './filled-by-hook.ts'
import { railContext } from './rail-context.ts'
import type { RailContextOptions } from './rail-context.ts'
import { allowSlowTests } from './slow-tests.ts'

/** End of the first poll. The chain starts 40 days earlier. */
export const endMs = Date.UTC(2026, 9, 31, 12)

interface RailChain {
  readonly anvil: () => Anvil
  /** Mines until every block before the time is settled. */
  readonly settle: (lastAtMs: number) => Promise<void>
  /** Polls at `endMs`, by default with an empty database. */
  readonly poll: (
    adapter: AnyRailAdapter,
    options?: Partial<RailContextOptions>,
  ) => ReturnType<AnyRailAdapter['measure']>
  /** Runs a test and restores the chain. */
  readonly undone: (test: () => Promise<void>) => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startRailChain(
  name: EvmChainName,
  contracts: readonly Address[],
  emit: (anvil: Anvil) => Promise<void>,
): Promise<RailChain> {
  const { chainId, settleBlocks } = chains[name]
  const anvil = await startAnvil(chainId, endMs - 40 * dayMs)
  const settle = async (lastAtMs: number) => await anvil.settle(settleBlocks + 1, lastAtMs)
  await anvil.place(...contracts)
  await emit(anvil)
  await settle(endMs)
  return {
    anvil: () => anvil,
    settle,
    poll: async (adapter, options = {}) => {
      const database = options.database ?? (await tempDatabase())
      const { rail } = adapter
      return await adapter.measure(
        railContext({ rail, endMs, rpcUrl: anvil.url, ...options, database }),
      )
    },
    undone: async (test) => {
      const restore = await anvil.snapshot()
      try {
        await test()
      } finally {
        await restore()
      }
    },
    stop: anvil.stop,
  }
}

/** Starts one chain for all tests of the file. */
export function useRailChain(...args: Parameters<typeof startRailChain>): Omit<RailChain, 'stop'> {
  allowSlowTests('starts anvil')
  const chain = filledByHook<RailChain>()
  beforeAll(async () => {
    Object.assign(chain, await startRailChain(...args))
    return chain.stop
  })
  return chain
}
