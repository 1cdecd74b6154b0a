import { ratioAtMost, row, rowsOf } from '../rows.ts'
/** The rate limiter with a million addresses, against a Map of token buckets. */
import { interleave } from '../samples.ts'
import { runTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const addresses = 1_000_000

export const limiter: Suite = {
  about: `memory and time of the limits with ${addresses} addresses, against a Map of token buckets`,
  run: async ({ quick }) => {
    const checks = quick ? 300_000 : 3_000_000
    const samples = await interleave(quick ? 2 : 7, {
      service: () => runTask('check-limits', 'service', addresses, checks),
      'Map of buckets': () => runTask('check-limits', 'map', addresses, checks),
    })
    return {
      rows: rowsOf(samples, [
        row('memory held', 'MB', 'service.heldMb', 'Map of buckets.heldMb', ratioAtMost(0.5)),
        row('first request of an address, CPU', 'ns', 'service.firstNs', 'Map of buckets.firstNs'),
        row('any later one, CPU', 'ns', 'service.laterNs', 'Map of buckets.laterNs'),
      ]),
      facts: { addresses, later_checks: checks },
    }
  },
}
