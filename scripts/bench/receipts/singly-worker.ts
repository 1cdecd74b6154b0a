/** `<database> <rpc url>`: the same questions one by one, a few at a time, with nothing written: what batches save. */
import { openDatabase } from '../../../src/db/open.ts'

const [path = '', rpcUrl = ''] = process.argv.slice(2)
const lanes = 4
const database = await openDatabase({ url: path, readOnly: true })
const rows = await database.reader
  .selectFrom('receipts')
  .select('tx_hash')
  .where('onchain', '=', 'pending')
  .execute()
await database.close()

let calls = 0
async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
  calls += 1
  const body = JSON.stringify({ jsonrpc: '2.0', id: calls, method, params })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(rpcUrl, { method: 'POST', headers, body })
  const json: unknown = await answer.json()
  return typeof json === 'object' && json !== null && 'result' in json ? json.result : null
}

const startedMs = performance.now()
let verified = 0
const queue = rows.values()
const lane = async () => {
  for (const { tx_hash: hash } of queue) {
    const receipt = await ask('eth_getTransactionReceipt', [hash])
    if (typeof receipt !== 'object' || receipt === null || !('blockNumber' in receipt)) continue
    const block = await ask('eth_getBlockByNumber', [receipt.blockNumber, false])
    if (block !== null) verified += 1
  }
}
await Promise.all(Array.from({ length: lanes }, lane))
const ms = performance.now() - startedMs
const peakMb = process.resourceUsage().maxRSS / 1024
process.stdout.write(`${JSON.stringify({ ms, peakMb, verified, calls, requests: calls })}\n`)
