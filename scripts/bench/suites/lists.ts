/** Filtered lists of receipts, against the same rows without total and limits. */
import { fillLedger } from '../../../test/support/large-ledger.ts'
import type { Suite } from '../bench.ts'
import { databaseIn, repeat, startPeer, startService } from '../processes.ts'
import { receiptsPath } from '../receipts.ts'

const filters = ['chain=base&status=verified', 'chain=base&status=unverified', 'chain=base']

export const lists: Suite = {
  about: 'filtered lists of a large ledger, against the same lists without totals',
  prepare: async ({ dir, quick, running }) => {
    await fillLedger(databaseIn(dir), quick ? 100_000 : 1_000_000)
    const service = await running(startService(dir))
    const peer = await running(startPeer('list', { env: { DATABASE: databaseIn(dir) } }))
    return filters.map((filter) => {
      const path = `${receiptsPath}?limit=50&${filter}`
      const measure = repeat({ path }, quick ? [200, 1000] : [1000, 5000])
      return {
        what: filter,
        ours: measure(service),
        peer: ['no total', measure(peer)],
        figures: { cpuUs: { mostRatio: 3 }, perSecond: {}, p99Ms: {} },
      }
    })
  },
}
