/** The rate limiter with a million addresses, against a Map of token buckets. */
import { runTask } from '../processes.ts'
import { interleave, row, rowsOf } from '../rows.ts'
import type { Suite } from '../suite.ts'

const addresses = 1_000_000

export const limiter: Suite = {
  about: `memory and time of the limits with ${addresses} addresses, against a Map of token buckets`,
  run: async ({ quick }) => {
    const checks = quick ? 300_000 : 3_000_000
    const measure = (who: string) => () => runTask('check-limits', who, addresses, checks)
    const samples = await interleave(quick ? 2 : 7, {
      service: measure('service'),
      map: measure('map'),
    })
    return {
      rows: rowsOf(samples('service'), { name: 'Map of buckets', samples: samples('map') }, [
        row('memory held', 'MB', 'heldMb', { target: { of: 'ratio', atMost: 0.5 } }),
        row('first request of an address, CPU', 'ns', 'firstNs'),
        row('any later one, CPU', 'ns', 'laterNs'),
      ]),
      skipped: [],
      facts: { addresses, later_checks: checks },
    }
  },
}
