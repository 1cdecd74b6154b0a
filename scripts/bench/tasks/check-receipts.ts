/** `<database> <rpc url>`: one run of the hourly job that checks receipts on their chains. */
import { createReceiptChecks } from '../../../builder/jobs/check-receipts.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { recomputeScores } from '../../../src/db/score-check.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { paidReceiptsNowMs } from '../paid-receipts.ts'
import { peakMb, report, textArgument, timed } from '../task.ts'

const database = await openDatabase({ url: textArgument(0) })
const checks = createReceiptChecks({
  database,
  clock: { ...systemClock, now: () => paidReceiptsNowMs },
  random: systemRandom,
  fetch,
  rpcUrls: { arbitrum: textArgument(1) },
  signal: new AbortController().signal,
  maxCalls: 40_000,
})
const { result, ms } = await timed(() => checks.run())
const peak = peakMb()
const { differences } = await recomputeScores(database.reader)
await database.close()
if (differences.length > 0) throw new Error(`${differences.length} scores differ`)
const [chain] = result.chains
report({
  ms,
  peakMb: peak,
  verified: chain?.verified ?? 0,
  calls: chain?.rpc_calls ?? 0,
  requests: chain?.rpc_requests ?? 0,
})
