/** Builds of a year of polls, against reading the same rows and compressing, signing and writing the same bytes. */
import { join } from 'node:path'

import { dayMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import type { Suite } from '../bench.ts'
import { pollInvented } from '../polls.ts'
import { databaseIn, runTask } from '../processes.ts'

const nowMs = Date.UTC(2026, 10, 21, 6)

export const builder: Suite = {
  about: 'builds of a large ledger with a year of polls, in full, unchanged and after one receipt',
  prepare: async ({ dir, quick }) => {
    const ledger = databaseIn(dir)
    await fillLedger(ledger, quick ? 100_000 : 1_000_000)
    const database = await openDatabase({ url: ledger })
    const everyMs = quick ? 7 * dayMs : dayMs / 4
    const count = Math.floor((365 * dayMs) / everyMs)
    const timesMs = Array.from({ length: count }, (_, at) => nowMs - (count - 1 - at) * everyMs)
    await pollInvented(database, timesMs)
    await database.close()
    let runs = 0
    const home = () => join(dir, `build-${runs}`)
    return [
      {
        what: 'build',
        ours: () => {
          runs += 1
          return runTask('build', ledger, home(), String(nowMs))
        },
        peer: ['the same bytes', () => runTask('copy', ledger, home(), join(dir, `copy-${runs}`))],
        figures: {
          fullCpuMs: { unit: 'ms', mostRatio: 1.4 },
          fullMs: { unit: 'ms' },
          peakMb: { unit: 'MB', most: 400 },
          unchangedCpuMs: { unit: 'ms' },
          receiptCpuMs: { unit: 'ms', mostRatio: 1.6 },
          receiptMs: { unit: 'ms', most: 120 },
        },
      },
    ]
  },
}
