import { createPublicClient, http } from 'viem'
import type { Hex } from 'viem'

import { openDatabase } from '../../../src/db/open.ts'
import { peakMb, timed } from '../task.ts'

/** Requests the receipt and the block header of each transaction by viem, four at a time, and writes nothing. */
export async function run(databasePath: string, rpcUrl: string) {
  const database = await openDatabase({ url: databasePath, readOnly: true })
  const pending = database.reader.selectFrom('receipts').where('onchain', '=', 'pending')
  const rows = await pending.select('tx_hash').execute()
  await database.close()
  const client = createPublicClient({ transport: http(rpcUrl) })
  const queue = rows.values()
  let verified = 0
  const checkAll = async (): Promise<void> => {
    for (const { tx_hash: hash } of queue) {
      const transaction: Hex = `0x${hash?.slice(2)}`
      const { blockNumber } = await client.getTransactionReceipt({ hash: transaction })
      await client.getBlock({ blockNumber })
      verified += 1
    }
  }
  const { ms } = await timed(() => Promise.all([checkAll(), checkAll(), checkAll(), checkAll()]))
  return { ms, peakMb: peakMb(), verified, calls: 2 * verified, requests: 2 * verified }
}
