/** `<database> <rpc url>`: asks for the transaction and the block of each receipt alone, four at a time, and writes nothing. */
import { openDatabase } from '../../../src/db/open.ts'
import { peakMb, report, textArgument, timed } from '../task.ts'

const database = await openDatabase({ url: textArgument(0), readOnly: true })
const rows = await database.reader
  .selectFrom('receipts')
  .select('tx_hash')
  .where('onchain', '=', 'pending')
  .execute()
await database.close()

let calls = 0
let verified = 0
const queue = rows.values()
const { ms } = await timed(() => Promise.all([checkAll(), checkAll(), checkAll(), checkAll()]))
report({ ms, peakMb: peakMb(), verified, calls, requests: calls })

async function checkAll(): Promise<void> {
  for (const { tx_hash: hash } of queue) {
    const receipt = await call('eth_getTransactionReceipt', [hash])
    if (typeof receipt !== 'object' || receipt === null || !('blockNumber' in receipt)) continue
    if ((await call('eth_getBlockByNumber', [receipt.blockNumber, false])) !== null) verified += 1
  }
}

async function call(method: string, params: readonly unknown[]): Promise<unknown> {
  calls += 1
  const body = JSON.stringify({ jsonrpc: '2.0', id: calls, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(textArgument(1), { method: 'POST', headers, body })
  const json: unknown = await response.json()
  return typeof json === 'object' && json !== null && 'result' in json ? json.result : null
}
