/** Receipts that are due in one run of the hourly job, against a local node: RPC calls, time and memory. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { startChainWithPayments, writePaidReceipts } from '../paid-receipts.ts'
import { row, rowsOf } from '../rows.ts'
import type { BenchRow } from '../rows.ts'
import { interleave } from '../samples.ts'
import { runTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

export const receipts: Suite = {
  about: 'receipts that are due in one run of the hourly job, against a local node',
  run: async ({ dir, quick, log }) => {
    const count = quick ? 400 : 10_000
    const rows: BenchRow[] = []
    for (const perBlock of [40, 1]) {
      log(`  ${count} payments, ${perBlock} in a block`)
      const { chain, payments } = await startChainWithPayments(count, perBlock)
      const path = join(dir, 'ledger.db')
      const measure = (task: 'check-receipts' | 'check-one-by-one') => async () => {
        await writePaidReceipts(path, payments)
        const sample = await runTask(task, path, chain.url)
        for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
        if (sample['verified'] !== count) throw new Error(`${sample['verified']} verified`)
        return sample
      }
      try {
        const samples = await interleave(quick ? 2 : 3, {
          job: measure('check-receipts'),
          'one by one': measure('check-one-by-one'),
        })
        const what = `${count.toLocaleString('en-US')} receipts, ${perBlock} to a block`
        rows.push(
          ...rowsOf(samples, [
            row(`${what}, RPC calls`, 'calls', 'job.calls', 'one by one.calls'),
            row(`${what}, requests`, 'requests', 'job.requests', 'one by one.requests'),
            row(`${what}, time`, 'ms', 'job.ms', 'one by one.ms'),
            row(`${what}, peak memory`, 'MB', 'job.peakMb', 'one by one.peakMb'),
          ]),
        )
      } finally {
        await chain.stop()
      }
    }
    return { rows, facts: { receipts: count } }
  },
}
