/** Receipts that are due in one run of the hourly job, against a local node: RPC calls, time and memory. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { startChainWithPayments, writePaidReceipts } from '../paid-receipts.ts'
import { runTask } from '../processes.ts'
import { interleave, row, rowsOf } from '../rows.ts'
import type { Row, Suite } from '../suite.ts'

export const receipts: Suite = {
  about: 'receipts that are due in one run of the hourly job, against a local node',
  run: async ({ dir, quick, log }) => {
    const count = quick ? 400 : 10_000
    const rows: Row[] = []
    for (const perBlock of [40, 1]) {
      log(`  ${count} payments, ${perBlock} in a block`)
      const { chain, payments } = await startChainWithPayments(count, perBlock)
      const path = join(dir, 'ledger.db')
      const measure = (task: string) => async () => {
        await writePaidReceipts(path, payments)
        const sample = await runTask(task, path, chain.url)
        for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
        if (sample['verified'] !== count) throw new Error(`${sample['verified']} verified`)
        return { ...sample, perSecond: (count * 1000) / Number(sample['ms']) }
      }
      try {
        const samples = await interleave(quick ? 2 : 3, {
          job: measure('check-receipts'),
          'one by one': measure('check-one-by-one'),
        })
        const what = `${count.toLocaleString('en-US')} receipts, ${perBlock} to a block`
        const peer = { name: 'one by one', samples: samples('one by one') }
        const also = { 'receipts/s': 'perSecond' }
        rows.push(
          ...rowsOf(samples('job'), peer, [
            row(`${what}, RPC calls`, 'calls', 'calls'),
            row(`${what}, requests`, 'requests', 'requests'),
            row(`${what}, time`, 'ms', 'ms', { also }),
            row(`${what}, peak memory`, 'MB', 'peakMb'),
          ]),
        )
      } finally {
        await chain.stop()
      }
    }
    return { rows, skipped: [], facts: { receipts: count } }
  },
}
