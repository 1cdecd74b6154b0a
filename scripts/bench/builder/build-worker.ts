/**
 * `<fixture dir> <state dir>`: a full build in a fresh process, one where nothing changed, and one after each of
 * thirty new receipts. The fifth and the median of the last ten are told.
 */
import { join } from 'node:path'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build } from '../../../builder/jobs/build.ts'
import { loadKeys } from '../../../builder/publish/keys.ts'
import { railAdapters } from '../../../builder/rails/index.ts'
import { createHistory } from '../../../builder/world/history.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { version } from '../../../src/contract/version.ts'
import { hourMs, minuteMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { median } from '../rounds.ts'
import { addReceipt, fixtureIn, nowMs } from './fixture.ts'

const [fixtureDir = '', stateDir = ''] = process.argv.slice(2)
const { dataDir, databasePath } = fixtureIn(fixtureDir)
const database = await openDatabase({ url: databasePath })
const quiet = () => undefined
/** From the fourth on there is an old generation to make the next one of. */
const early = 5
const receipts = 30
const late = 10
const options = {
  database,
  history: createHistory(database.reader),
  dataDir,
  adapters: railAdapters,
  site: {
    url: 'https://ledger.test',
    serviceName: 'agent-income-ledger',
    version,
    historyUrl: null,
    payments: { settlement: 'off', receiver: null },
  },
  pollEveryMs: 6 * hourMs,
  keys: await loadKeys({ dir: join(fixtureDir, 'keys'), nowMs }),
  exchangeKeys: () =>
    Promise.resolve({ active: signingKeyFromSeed(Buffer.alloc(32, 7)), retired: [] }),
  stateDir,
  publicDir: join(stateDir, 'public'),
  assetsDir: null,
  memory: emptyBuildMemory({ dataDir, stateDir }),
  repository: { remote: null, env: process.env, check: 'quick' },
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
} as const

const full = await timed(nowMs)
const fullPeakMb = process.resourceUsage().maxRSS / 1024
const unchanged = await timed(nowMs + minuteMs)
const after: Timed[] = []
for (let receipt = 1; receipt <= receipts; receipt += 1) {
  await database.write(addReceipt)
  after.push(await timed(nowMs + (1 + receipt) * minuteMs))
}
await database.close()
const { ms, cpuMs, documents } = full
const oneReceipt = after[early - 1]
const warm = {
  ms: median(after.slice(-late).map((build) => build.ms)),
  cpuMs: median(after.slice(-late).map((build) => build.cpuMs)),
}
process.stdout.write(
  `${JSON.stringify({ full: { ms, cpuMs, documents }, fullPeakMb, unchanged, oneReceipt, warm })}\n`,
)

interface Timed {
  readonly ms: number
  readonly cpuMs: number
  readonly changed: readonly string[]
  readonly documents: number
}

async function timed(atMs: number): Promise<Timed> {
  const startedMs = performance.now()
  const before = process.cpuUsage()
  const { published } = await build({ ...options, nowMs: atMs })
  const { changed, manifest } = published
  return {
    ms: performance.now() - startedMs,
    cpuMs: cpuMsSince(before),
    changed,
    documents: manifest.count,
  }
}

/** Of all threads of the process: compressing and rendering run beside the main one. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
