/** The rate limiter with a million addresses, against a Map of token buckets. */
import { runTask } from '../processes.ts'
import { interleave, rowsOf } from '../rows.ts'
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
        {
          what: 'memory held',
          unit: 'MB',
          figure: 'heldMb',
          target: { of: 'ratio', atMost: 0.5 },
        },
        { what: 'first request of an address, CPU', unit: 'ns', figure: 'firstNs' },
        { what: 'any later one, CPU', unit: 'ns', figure: 'laterNs' },
      ]),
      skipped: [],
      facts: { addresses, later_checks: checks, node: process.version },
    }
  },
}
