/** A site of a thousand pages: all of it, and after one change. */
import { join } from 'node:path'

import { makePolledLedger } from '../polled-ledger.ts'
import { atMost, row, rowsOf } from '../rows.ts'
import { medianOf, ofContestant } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { runTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

export const pages: Suite = {
  about: 'the site of 334 rails, workers and receipts each: all of it, and after one change',
  run: async ({ dir, quick, log }) => {
    await makePolledLedger(dir, 334)
    const samples: Sample[] = []
    for (let round = 1; round <= (quick ? 2 : 7); round += 1) {
      log(`  round ${round}`)
      const home = join(dir, `round-${round}`)
      const site = await runTask('build-site', dir, home)
      const copy = await runTask('copy', join(home, 'public'), join(home, 'copy'), null)
      samples.push({ ...ofContestant('site', site), ...ofContestant('copy', copy) })
    }
    return {
      rows: rowsOf(samples, [
        row('a thousand pages', 'ms', 'site.fullMs', 'copy.ms', atMost(5000)),
        row('a thousand pages, time of all threads', 'cpu ms', 'site.fullCpuMs', 'copy.cpuMs'),
        row('after one change, time of all threads', 'cpu ms', 'site.oneCpuMs', 'site.fullCpuMs'),
        row('after one change', 'ms', 'site.oneMs', 'site.fullMs'),
      ]),
      facts: {
        pages: medianOf(samples, 'site.pages'),
        files: medianOf(samples, 'copy.files'),
        changed_by_one_receipt: samples[0]?.['site.changed'] ?? '',
      },
    }
  },
}
