/** Reads blocks of a poll again from a node, with the same lists and memory. */
import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import type { ListSource } from '../../../builder/rails/evidence.ts'
import { linesOf } from '../../../builder/rails/payout-lines.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import type { ChainReader } from '../../../src/chain/reader.ts'
import { linesOfValue } from '../../../src/core/evidence.ts'
import type { BlockInput } from '../../../src/core/evidence.ts'
import { nothingStored, refuse } from './context.ts'
import { NotKept } from './evidence.ts'
import type { Recomputation } from './report.ts'

/** @param memory the keys that the poll remembered before these blocks */
export async function readAgain(
  { adapter, evidence, report }: Recomputation,
  reader: ChainReader,
  { from, to, lists }: BlockInput,
  memory: readonly string[],
) {
  const cursor = { block: from.number - 1, lastPayoutAtMs: null, memory }
  const lines: string[] = []
  const remembered: string[] = []
  const ctx: AdapterContext = {
    ...nothingStored(cursor),
    window: windowEndingAt(await reader.blockTime(to.number)),
    http: { json: refuse },
    solana: refuse,
    chain: () => ({ ...reader, settledHead: () => Promise.resolve(to.number) }),
    evidence: {
      list: async <List>(list: string, read: () => List | Promise<List>, source?: ListSource) => {
        const stored = await evidence.list(lists[list])
        if (stored === undefined) throw new NotKept(`it has no list ${list}`)
        if (source === 'chain')
          report.compare(`list ${list}`, linesOfValue(stored), linesOfValue(await read()))
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the poll packed it
        return stored as List
      },
      addChunk: ({ payouts, remembered: keys = [] }) => {
        lines.push(...linesOf(payouts))
        remembered.push(...keys)
        return async () => await Promise.resolve()
      },
      addLookUp: refuse,
      setReading: () => undefined,
    },
    hasNode: () => true,
  }
  await adapter.read(ctx)
  return { lines: lines.sort(), remembered }
}
