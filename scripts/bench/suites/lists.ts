/** Filtered lists of receipts with their totals, against the same lists without totals. */
import { startNodeServer } from '../../../test/support/server-process.ts'
import { cpuUsOf } from '../cpu.ts'
import { makeLedger, manyReceipts } from '../ledger.ts'
import { atMost, ratioAtMost, row, rowsOf } from '../rows.ts'
import type { BenchRow } from '../rows.ts'
import { interleave } from '../samples.ts'
import { databasePathIn, receiptsPath, startService } from '../service.ts'
import { benchProgram } from '../start-task.ts'
import type { Suite } from '../suite.ts'
import { isInstalled, runWrk } from '../wrk.ts'

const connections = 64
const filters = ['chain=base&status=verified', 'chain=base&status=unverified', 'chain=base']

export const lists: Suite = {
  about: 'filtered lists of receipts, against the same lists without totals',
  run: async ({ dir, quick }) => {
    if (!isInstalled('wrk')) return { rows: [], skipped: ['all rows: wrk is not installed'] }
    const [rounds, seconds] = quick ? [2, 1] : [7, 4]
    const receipts = manyReceipts(quick)
    await makeLedger(databasePathIn(dir), receipts)
    const service = await startService(dir)
    const env = { DATABASE: databasePathIn(dir) }
    const peer = await startNodeServer(benchProgram('peers/list'), { env, readyPath: '/?limit=1' })
    const rows: BenchRow[] = []
    try {
      for (const filter of filters) {
        const measure = (server: typeof peer) => async () => {
          const url = `${server.origin}${receiptsPath}?limit=50&${filter}`
          await runWrk({ url, connections, seconds })
          const before = cpuUsOf(server.pid)
          const { perSecond, p99Ms } = await runWrk({ url, connections, seconds })
          return { cpuUs: (cpuUsOf(server.pid) - before) / (perSecond * seconds), perSecond, p99Ms }
        }
        const contestants = { service: measure(service), 'no total': measure(peer) }
        const what = `${filter}, ${receipts.toLocaleString('en-US')} receipts`
        rows.push(
          ...rowsOf(await interleave(rounds, contestants), [
            row(what, 'cpu us', 'service.cpuUs', 'no total.cpuUs', ratioAtMost(3)),
            row(what, '1/s', 'service.perSecond', 'no total.perSecond'),
            row(`${what}, p99`, 'ms', 'service.p99Ms', 'no total.p99Ms', atMost(20)),
          ]),
        )
      }
    } finally {
      await peer.stop()
      await service.stop()
    }
    return { rows, facts: { connections } }
  },
}
