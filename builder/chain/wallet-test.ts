/** Tests whether a wallet looks like an exchange, a bridge or a shop: it is old and has many recipients or senders. */
import { chains } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { hexData, parseResult } from '../../src/chain/values.ts'
import { dayMs, secondMs } from '../../src/core/time.ts'
import { readTransfers, transferFilters, usdcChunkBlocks } from './usdc-transfers.ts'

const sampleAgesDays = [0, 41, 91]
/** A node that refuses a sample has more logs than this in it. */
const manyWallets = 10_000
/** Code of a wallet with a key that delegates its calls (EIP-7702). */
const delegation = '0xef0100'

/** Seven requests: the code, and the USDC sent and received in three samples of five hours. @throws ChainError */
export async function testWallet(reader: ChainReader, wallet: string, head: number) {
  const result = await reader.call('eth_getCode', [wallet, 'latest'])
  const code = parseResult(reader.name, hexData, result, 'code')
  const sides = [
    ['to', transferFilters(reader.name, { outOf: [wallet] })],
    ['from', transferFilters(reader.name, { into: [wallet] })],
  ] as const
  const perDay = dayMs / (chains[reader.name].blockSeconds * secondMs)
  const seen = { from: new Set<string>(), to: new Set<string>() }
  let [oldest, tooMany] = [0, 0]
  for (const days of sampleAgesDays) {
    const toBlock = head - Math.round(days * perDay)
    const fromBlock = toBlock - usdcChunkBlocks(reader.name) + 1
    if (fromBlock < 0) continue
    for (const [side, filters] of sides) {
      try {
        const found = await readTransfers(reader, filters, { fromBlock, toBlock })
        for (const transfer of found) seen[side].add(transfer[side])
        // Anyone can send a wallet nothing.
        if (found.some(({ microUsdc }) => microUsdc !== 0)) oldest = days
      } catch (error) {
        if (!(error instanceof ChainError && error.isTooLarge)) throw error
        oldest = days
        tooMany = manyWallets
      }
    }
  }
  return {
    contract: code !== '0x' && !code.startsWith(delegation),
    /** The age of the oldest sample with a transfer; the wallet may be older. */
    ageDays: oldest,
    recipients: Math.max(tooMany, seen.to.size),
    senders: Math.max(tooMany, seen.from.size),
  }
}
