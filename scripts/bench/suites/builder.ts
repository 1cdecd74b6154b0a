/** Builds of a year of polls, against reading the same rows and writing the same bytes. */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'

import { manyReceipts } from '../ledger.ts'
import { runTask } from '../processes.ts'
import { medianOf, row, rowsOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import type { Suite } from '../suite.ts'
import { databaseIn, makeYearOfPolls, pollsCount, railsCount } from '../year-of-polls.ts'

export const builder: Suite = {
  about: `builds of ${railsCount} rails with a year of polls, in full, unchanged and after one receipt`,
  run: async (context) => {
    const { dir, quick, log } = context
    const rounds = quick ? 2 : 7
    const receipts = manyReceipts(context)
    log(`  ${receipts} receipts and ${pollsCount} polls are written`)
    await makeYearOfPolls(context, receipts)
    const builds: Sample[] = []
    const copies: Sample[] = []
    for (let round = 0; round < rounds; round += 1) {
      log(`  round ${round + 1} of ${rounds}`)
      const stateDir = join(dir, `build-${round}`)
      builds.push(await runTask('build', dir, stateDir))
      const published = realpathSync(join(stateDir, 'public/current'))
      copies.push(await runTask('copy', published, join(dir, `copy-${round}`), databaseIn(dir)))
    }
    const copy = (figure: string) => ({ name: 'copy', samples: copies, figure })
    const full = (figure: string) => ({ name: 'full build', samples: builds, figure })
    const size = `${receipts.toLocaleString('en-US')} receipts`
    return {
      rows: rowsOf(builds, copy('ms'), [
        row(`full build, ${size}`, 'ms', 'fullMs', { target: { of: 'ratio', atMost: 3 } }),
        row(`full build, ${size}, time of all threads`, 'cpu ms', 'fullCpuMs', {
          peer: copy('cpuMs'),
        }),
        row(`full build, ${size}, peak memory`, 'MB', 'fullPeakMb', {
          peer: copy('peakMb'),
          target: { of: 'ours', atMost: 400 },
        }),
        row(`unchanged build, ${size}, time of all threads`, 'cpu ms', 'unchangedCpuMs', {
          peer: full('fullCpuMs'),
        }),
        row(`after one receipt, ${size}, time of all threads`, 'cpu ms', 'oneReceiptCpuMs', {
          peer: full('fullCpuMs'),
          target: { of: 'ratio', atMost: 0.01 },
        }),
        row(
          `after one receipt, builder warm, ${size}, time of all threads`,
          'cpu ms',
          'warmCpuMs',
          { peer: full('fullCpuMs'), target: { of: 'ratio', atMost: 0.01 } },
        ),
        row(`after one receipt, ${size}, beside links alone`, 'cpu ms', 'oneReceiptCpuMs', {
          peer: { ...copy('linksCpuMs'), name: 'links' },
        }),
        row(`after one receipt, ${size}`, 'ms', 'oneReceiptMs', { peer: full('fullMs') }),
        row(`after one receipt, builder warm, ${size}`, 'ms', 'warmMs', { peer: full('fullMs') }),
        row(`after one receipt, ${size}, documents written`, 'documents', 'oneReceiptDocuments', {
          peer: full('documents'),
        }),
      ]),
      skipped: [],
      facts: {
        polls: pollsCount,
        rows_read: medianOf(copies, 'rows'),
        documents: medianOf(builds, 'documents'),
        files_written: medianOf(copies, 'files'),
        mb_written: Math.round(medianOf(copies, 'writtenMb')),
        receipts,
        changed_by_an_unchanged_build: builds[0]?.['changedByNothing'] ?? '',
        changed_by_one_receipt: builds[0]?.['changedByOneReceipt'] ?? '',
      },
    }
  },
}
