import { createReceiptChecks } from '../../../builder/jobs/check-receipts.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { recomputeScores } from '../../../src/db/score-check.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { paidReceiptsNowMs } from '../paid-receipts.ts'
import { peakMb, timed } from '../task.ts'

/** One run of the hourly job that checks receipts on their chains. */
export async function run(databasePath: string, rpcUrl: string) {
  const database = await openDatabase({ url: databasePath })
  const checks = createReceiptChecks({
    database,
    clock: { ...systemClock, now: () => paidReceiptsNowMs },
    random: systemRandom,
    fetch,
    rpcUrls: { arbitrum: rpcUrl },
    signal: new AbortController().signal,
    maxCalls: 40_000,
  })
  const { result, ms } = await timed(() => checks.run())
  const peak = peakMb()
  const { differences } = await recomputeScores(database.reader)
  await database.close()
  if (differences.length > 0) throw new Error(`${differences.length} scores differ`)
  const [chain] = result.chains
  if (chain === undefined) throw new Error('no chain was checked')
  const { verified, rpc_calls: calls, rpc_requests: requests } = chain
  return { ms, peakMb: peak, verified, calls, requests }
}
