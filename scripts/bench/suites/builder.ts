/** Builds of a year of polls, against reading the same rows and writing the same bytes. */
import { join } from 'node:path'

import { manyReceipts } from '../ledger.ts'
import { makePolledLedger } from '../polled-ledger.ts'
import { atMost, ratioAtMost, row, rowsOf } from '../rows.ts'
import type { Target } from '../rows.ts'
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
      const copy = await runTask('copy', join(home, 'public'), join(home, 'copy'), dir)
      samples.push({ ...ofContestant('build', build), ...ofContestant('copy', copy) })
    }
    const size = `${receipts.toLocaleString('en-US')} receipts`
    const cpu = (what: string, ours: string, peer: string, target: Target | null = null) =>
      row(`${what}, ${size}, time of all threads`, 'cpu ms', ours, peer, target)
    const share = ratioAtMost(0.01)
    return {
      rows: rowsOf(samples, [
        row(`full build, ${size}`, 'ms', 'build.fullMs', 'copy.ms', ratioAtMost(3)),
        row(
          `full build, ${size}, peak memory`,
          'MB',
          'build.fullPeakMb',
          'copy.peakMb',
          atMost(400),
        ),
        cpu('full build', 'build.fullCpuMs', 'copy.cpuMs'),
        cpu('unchanged build', 'build.unchangedCpuMs', 'build.fullCpuMs'),
        cpu('after one receipt', 'build.oneReceiptCpuMs', 'build.fullCpuMs', share),
        cpu('after one receipt, builder warm', 'build.warmCpuMs', 'build.fullCpuMs', share),
        row(`after one receipt, builder warm, ${size}`, 'ms', 'build.warmMs', 'build.fullMs'),
      ]),
      facts: {
        receipts,
        rows_read: medianOf(samples, 'copy.rows'),
        documents: medianOf(samples, 'build.documents'),
        files_written: medianOf(samples, 'copy.files'),
        mb_written: Math.round(medianOf(samples, 'copy.writtenMb')),
        changed_by_an_unchanged_build: samples[0]?.['build.changedByNothing'] ?? '',
        changed_by_one_receipt: samples[0]?.['build.changedByOneReceipt'] ?? '',
      },
    }
  },
}
