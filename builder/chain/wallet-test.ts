/** Tests whether wallets look like an exchange, a bridge or a shop: old, with many recipients or senders. */
import { chains } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { hexData, parseResult } from '../../src/chain/values.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { hubAgeDays, isHub } from '../../src/core/rules/hubs.ts'
import { dayMs, secondMs } from '../../src/core/time.ts'
import { concurrentCalls } from './logs.ts'
import { readTransfers, transferFilters, usdcChunkBlocks } from './usdc-transfers.ts'

/** The oldest first: a hub that is certain needs no others, and a young wallet is none. */
const sampleAgesDays = [91, 41, 0]
/** A node that refuses a sample of one wallet has more logs than this in it. */
export const manyWallets = 10_000
/** Code of a wallet with a key that delegates its calls (EIP-7702). */
const delegation = '0xef0100'

/**
 * A request for the code of each wallet, and six for up to 200 of them, more if the node refuses: the USDC sent and received in
 * three samples of five hours. A sample that the node refuses is read again for half of the wallets. @throws ChainError
 */
export async function testWallets(reader: ChainReader, wallets: readonly string[], head: number) {
  const codes = await mapConcurrent(wallets, concurrentCalls, async (wallet) => {
    const result = await reader.call('eth_getCode', [wallet, 'latest'])
    return parseResult(reader.name, hexData, result, 'code')
  })
  const perDay = dayMs / (chains[reader.name].blockSeconds * secondMs)
  const tests = new Map(wallets.map((wallet, at) => [wallet, emptyTest(codes[at] ?? '0x')]))

  async function read(side: Side, some: readonly string[], days: number): Promise<void> {
    const toBlock = head - Math.round(days * perDay)
    const fromBlock = toBlock - usdcChunkBlocks(reader.name) + 1
    const [first = ''] = some
    if (fromBlock < 0 || some.length === 0) return
    const filters = transferFilters(reader.name, side === 'to' ? { outOf: some } : { into: some })
    try {
      for (const transfer of await readTransfers(reader, filters, { fromBlock, toBlock })) {
        const test = tests.get(side === 'to' ? transfer.from : transfer.to)
        const amount = transfer.microUsdc ?? Infinity
        // Anyone can send nothing, also in the name of others.
        if (test === undefined || amount === 0) continue
        test.days = Math.max(test.days, days)
        if (side === 'to' || amount >= microPerUsdc) test[side].add(transfer[side])
      }
    } catch (error) {
      if (!(error instanceof ChainError && error.isTooLarge)) throw error
      const half = Math.ceil(some.length / 2)
      const test = tests.get(first)
      if (some.length > 1) {
        await read(side, some.slice(0, half), days)
        await read(side, some.slice(half), days)
      } else if (test !== undefined) {
        test.days = Math.max(test.days, days)
        test.refused.add(side)
      }
    }
  }

  for (const days of sampleAgesDays) {
    const open = [...tests].filter(
      ([, test]) => isHub({ listedHub: false, ...resultOf(test) }) !== true,
    )
    const old = open.filter(([, test]) => days > 0 || test.days >= hubAgeDays)
    await read('to', namesOf(old), days)
    await read('from', namesOf(open), days)
  }
  return new Map([...tests].map(([wallet, test]) => [wallet, resultOf(test)]))
}

type Side = 'from' | 'to'

function emptyTest(code: string) {
  return {
    contract: code !== '0x' && !code.startsWith(delegation),
    days: 0,
    to: new Set<string>(),
    from: new Set<string>(),
    refused: new Set<Side>(),
  }
}

function resultOf({ contract, days, to, from, refused }: ReturnType<typeof emptyTest>) {
  return {
    contract,
    /** The age of the oldest sample with a transfer; the wallet may be older. */
    ageDays: days,
    recipients: refused.has('to') ? manyWallets : to.size,
    senders: refused.has('from') ? manyWallets : from.size,
  }
}

const namesOf = (entries: readonly (readonly [string, unknown])[]) => entries.map(([name]) => name)
