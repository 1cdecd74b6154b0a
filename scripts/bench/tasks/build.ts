/** `<fixture dir> <state dir>`: a full build, one without changes, and one after each of thirty new receipts. */
import { join } from 'node:path'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build } from '../../../builder/jobs/build.ts'
import { loadKeys } from '../../../builder/publish/keys.ts'
import { createHistory } from '../../../builder/world/history.ts'
import { minuteMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { buildSettings, silentLog } from '../build-settings.ts'
import { median } from '../rows.ts'
import { peakMb, report, textArgument, timed } from '../task.ts'
import { addReceipt, dataDirIn, databaseIn, nowMs } from '../year-of-polls.ts'

const receipts = 30
/** From the fourth build on there is an old generation to recycle. */
const early = 5
const late = 10
const [fixtureDir, stateDir] = [textArgument(0), textArgument(1)]
const dataDir = dataDirIn(fixtureDir)
const database = await openDatabase({ url: databaseIn(fixtureDir) })
const options = {
  ...buildSettings,
  database,
  history: createHistory(database.reader),
  dataDir,
  keys: await loadKeys({ dir: join(fixtureDir, 'keys'), nowMs }),
  stateDir,
  publicDir: join(stateDir, 'public'),
  assetsDir: null,
  memory: emptyBuildMemory({ dataDir, stateDir }),
  repository: { remote: null, env: process.env, check: 'quick' },
  log: silentLog,
} as const
const buildAfter = (minutes: number) =>
  timed(() => build({ ...options, nowMs: nowMs + minutes * minuteMs }))

const full = await buildAfter(0)
const fullPeakMb = peakMb()
const unchanged = await buildAfter(1)
const builds: Awaited<ReturnType<typeof buildAfter>>[] = []
for (let receipt = 1; receipt <= receipts; receipt += 1) {
  await database.write(addReceipt)
  builds.push(await buildAfter(1 + receipt))
}
await database.close()
const oneReceipt = builds[early - 1] ?? full
const warm = builds.slice(-late)
report({
  fullMs: full.ms,
  fullCpuMs: full.cpuMs,
  fullPeakMb,
  documents: full.result.published.manifest.count,
  unchangedCpuMs: unchanged.cpuMs,
  changedByNothing: unchanged.result.published.changed.join(' ') || 'nothing',
  oneReceiptMs: oneReceipt.ms,
  oneReceiptCpuMs: oneReceipt.cpuMs,
  oneReceiptDocuments: oneReceipt.result.published.changed.length,
  changedByOneReceipt: oneReceipt.result.published.changed.join(' '),
  warmMs: median(warm.map(({ ms }) => ms)),
  warmCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
})
