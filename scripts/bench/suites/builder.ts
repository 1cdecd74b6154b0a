/** Builds of a year of polls, against reading the same rows and compressing, signing and writing the same bytes. */
import { join } from 'node:path'

import { manyReceipts } from '../ledger.ts'
import { makePolledLedger } from '../polled-ledger.ts'
import { atMost, ratioAtMost, row, rowsOf } from '../rows.ts'
import { medianOf, ofContestant } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { runTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

export const builder: Suite = {
  about: 'builds of 60 rails with a year of polls, in full, unchanged and after one receipt',
  run: async ({ dir, quick, log }) => {
    const receipts = manyReceipts(quick)
    await makePolledLedger(dir, receipts)
    const samples: Sample[] = []
    for (let round = 1; round <= (quick ? 2 : 7); round += 1) {
      log(`  round ${round}`)
      const home = join(dir, `round-${round}`)
      const build = await runTask('build', dir, home)
      const changed = String(build['changedByOneReceipt'])
      const copy = await runTask('copy', join(home, 'public'), join(home, 'copy'), dir, changed)
      samples.push({ ...ofContestant('build', build), ...ofContestant('copy', copy) })
    }
    const size = `${receipts.toLocaleString('en-US')} receipts`
    const one = `after one receipt, ${size}`
    return {
      rows: rowsOf(samples, [
        row(`full build, ${size}, CPU`, 'ms', 'build.fullCpuMs', 'copy.cpuMs', ratioAtMost(1.4)),
        row(`full build, ${size}`, 'ms', 'build.fullMs', 'copy.ms'),
        row(`${size}, peak memory`, 'MB', 'build.fullPeakMb', 'copy.peakMb', atMost(400)),
        row(`unchanged, ${size}, CPU`, 'ms', 'build.unchangedCpuMs', 'build.fullCpuMs'),
        row(`${one}, CPU`, 'ms', 'build.warmCpuMs', 'copy.changeCpuMs', ratioAtMost(1.6)),
        row(one, 'ms', 'build.warmMs', 'copy.changeMs', atMost(120)),
      ]),
      facts: {
        receipts,
        rows_read: medianOf(samples, 'copy.rows'),
        documents: medianOf(samples, 'build.documents'),
        mb_written: Math.round(medianOf(samples, 'copy.writtenMb')),
        changed_by_an_unchanged_build: samples[0]?.['build.changedByNothing'] ?? '',
        changed_by_one_receipt: samples[0]?.['build.changedByOneReceipt'] ?? '',
      },
    }
  },
}
