/** Tests whether a wallet looks like an exchange, a bridge or a shop: it is old and pays many recipients. */
import { chains } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { hexData, parseResult } from '../../src/chain/values.ts'
import { dayMs, secondMs } from '../../src/core/time.ts'
import { readTransfers, transferFilters, usdcChunkBlocks } from './usdc-transfers.ts'

const sampleAgesDays = [0, 45, 91]
/** A node that refuses a sample has more logs than this in it. */
const manyRecipients = 10_000
/** Code of a wallet with a key that delegates its calls (EIP-7702). */
const delegation = '0xef0100'

/** Four requests: the code, and the USDC sent in three samples of five hours. @throws ChainError */
export async function testWallet(reader: ChainReader, wallet: string, head: number) {
  const result = await reader.call('eth_getCode', [wallet, 'latest'])
  const code = parseResult(reader.name, hexData, result, 'code')
  const filters = transferFilters(reader.name, { outOf: [wallet] })
  const perDay = dayMs / (chains[reader.name].blockSeconds * secondMs)
  const recipients = new Set<string>()
  let [oldest, tooMany] = [0, false]
  for (const days of sampleAgesDays) {
    const toBlock = head - Math.round(days * perDay)
    const fromBlock = toBlock - usdcChunkBlocks(reader.name) + 1
    if (fromBlock < 0) continue
    try {
      const sent = await readTransfers(reader, filters, { fromBlock, toBlock })
      for (const { to } of sent) recipients.add(to)
      if (sent.length > 0) oldest = days
    } catch (error) {
      if (!(error instanceof ChainError && error.isTooLarge)) throw error
      oldest = days
      tooMany = true
    }
  }
  return {
    contract: code !== '0x' && !code.startsWith(delegation),
    /** The age of the oldest sample with a transfer; the wallet may be older. */
    ageDays: oldest,
    recipients: tooMany ? manyRecipients : recipients.size,
  }
}
