import { join } from 'node:path'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build } from '../../../builder/jobs/build.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { median } from '../../../src/core/median.ts'
import { minuteMs } from '../../../src/core/time.ts'
import { addReceipt, nowMs, openPolledLedger } from '../polled-ledger.ts'
import { peakMb, timed } from '../task.ts'

const leads = () => Promise.resolve()
const receipts = 30
const late = 10

/** A full build, one without changes, and one after each of thirty new receipts. */
export async function run(ledgerDir: string, stateDir: string) {
  const ledger = await openPolledLedger(ledgerDir)
  const { database, dataDir } = ledger
  const options = {
    ...ledger,
    keys: await loadKeys({ dir: join(ledgerDir, 'keys'), nowMs }),
    stateDir,
    store: createDirectory({ publicDir: join(stateDir, 'public'), fence: 1, check: leads }),
    check: leads,
    memory: emptyBuildMemory({ dataDir }),
    repository: { remote: null, env: process.env, check: 'quick' },
    lastVersion: () => Promise.resolve(0),
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
  const warm = builds.slice(-late)
  return {
    fullMs: full.ms,
    fullCpuMs: full.cpuMs,
    fullPeakMb,
    documents: full.result.published.manifest.count,
    unchangedCpuMs: unchanged.cpuMs,
    changedByNothing: unchanged.result.published.changed.join(' ') || 'nothing',
    changedByOneReceipt: warm.at(-1)?.result.published.changed.join(' ') ?? '',
    warmMs: median(warm.map(({ ms }) => ms)),
    warmCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
  }
}
