/** A site of a thousand pages: all of it, and after one change. */
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

import { runTask } from '../processes.ts'
import { medianOf, row, rowsOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import type { Suite } from '../suite.ts'

export const pages: Suite = {
  about: 'the site of 334 rails, workers and receipts each: all of it, and after one change',
  run: async ({ dir, quick, log }) => {
    const builds: Sample[] = []
    const copies: Sample[] = []
    for (let round = 0; round < (quick ? 2 : 7); round += 1) {
      log(`  round ${round + 1}`)
      const home = join(dir, `pages-${round}`)
      mkdirSync(home)
      builds.push(await runTask('build-site', home))
      const published = realpathSync(join(home, 'public/current'))
      copies.push(await runTask('copy', published, join(home, 'copy')))
    }
    const copy = (figure: string) => ({ name: 'copy', samples: copies, figure })
    const whole = (figure: string) => ({ name: 'all of it', samples: builds, figure })
    return {
      rows: rowsOf(builds, copy('ms'), [
        row('a thousand pages', 'ms', 'fullMs', { target: { of: 'ours', atMost: 5000 } }),
        row('a thousand pages, time of all threads', 'cpu ms', 'fullCpuMs', {
          peer: copy('cpuMs'),
        }),
        row('after one change, time of all threads', 'cpu ms', 'oneCpuMs', {
          peer: whole('fullCpuMs'),
        }),
        row('after one change', 'ms', 'oneMs', { peer: whole('fullMs') }),
      ]),
      skipped: [],
      facts: {
        pages: medianOf(builds, 'pages'),
        files: medianOf(copies, 'files'),
        changed_by_one_receipt: builds[0]?.['changed'] ?? '',
      },
    }
  },
}
