/** Builds of a year of polls, against reading the same rows and compressing, signing and writing the same bytes. */
import { join } from 'node:path'

import { dayMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import type { Suite } from '../bench.ts'
import { pollAt } from '../polls.ts'
import { databaseIn, programOf, runProgram } from '../processes.ts'

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
    await pollAt(database, timesMs)
    await database.close()
    const task = programOf('scripts/bench/tasks/build.js')
    let runs = 0
    const args = () => [task, ledger, join(dir, `build-${runs}`), String(nowMs)]
    return [
      {
        what: 'build',
        ours: () => {
          runs += 1
          return runProgram(args())
        },
        peer: ['the same bytes', () => runProgram([...args(), join(dir, `copy-${runs}`)])],
        figures: {
          fullCpuMs: { mostRatio: 1.4 },
          fullMs: {},
          peakMb: { most: 400 },
          unchangedCpuMs: {},
          receiptCpuMs: { mostRatio: 1.6 },
          receiptMs: { most: 120 },
        },
      },
    ]
  },
}
