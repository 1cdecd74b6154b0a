/** `<database> <rpc url>`: one run of the hourly job in a fresh process. */
import { randomBytes } from 'node:crypto'

import { createReceiptChecks } from '../../../builder/jobs/check-receipts.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { recomputeScores } from '../../../src/db/score-check.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { fixtureNowMs } from './fixture.ts'

const [path = '', rpcUrl = ''] = process.argv.slice(2)
const database = await openDatabase({ url: path })
const startMb = process.memoryUsage.rss() / 2 ** 20
const checks = createReceiptChecks({
  database,
  clock: { ...systemClock, now: () => fixtureNowMs },
  random: { bytes: (length) => randomBytes(length), unit: () => 0.5 },
  fetch,
  rpcUrls: { arbitrum: rpcUrl },
  signal: new AbortController().signal,
  maxCalls: 40_000,
})
const startedMs = performance.now()
const { chains } = await checks.run()
const ms = performance.now() - startedMs
const peakMb = process.resourceUsage().maxRSS / 1024
const { differences } = await recomputeScores(database.reader)
await database.close()
const [report] = chains
process.stdout.write(
  `${JSON.stringify({
    ms,
    startMb,
    peakMb,
    verified: report?.verified ?? 0,
    calls: report?.rpc_calls ?? 0,
    requests: report?.rpc_requests ?? 0,
    differences: differences.length,
  })}\n`,
)
