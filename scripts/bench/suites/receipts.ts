/** Very many receipts due in one run, against a local node: RPC calls, time and memory. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { runWorker } from '../processes.ts'
import { payAll, writeReceipts } from '../receipts/fixture.ts'
import { alongside, compare, interleave } from '../rounds.ts'
import type { Row, Suite, SuiteContext } from '../suite.ts'

const checkScript = new URL('../receipts/check-worker.js', import.meta.url)
const singlyScript = new URL('../receipts/singly-worker.js', import.meta.url)

const result = z.object({
  ms: z.number(),
  peakMb: z.number(),
  verified: z.number(),
  calls: z.number(),
  requests: z.number(),
  differences: z.number().default(0),
})
type Result = z.infer<typeof result>

export const receipts: Suite = {
  about: 'receipts that are due in one run of the hourly job, against a local node',
  run: async (context) => {
    const receipts = context.quick ? 400 : 10_000
    const rows: Row[] = []
    for (const perBlock of [40, 1]) rows.push(...(await rowsOf(context, receipts, perBlock)))
    return { rows, skipped: [], facts: { receipts, node: process.version } }
  },
}

async function rowsOf(
  { dir, quick, say }: SuiteContext,
  receiptsCount: number,
  perBlock: number,
): Promise<Row[]> {
  say(`  ${receiptsCount} payments, ${perBlock} to a block`)
  const { chain, paid } = await payAll(receiptsCount, perBlock)
  try {
    let runs = 0
    const measure = async (script: URL): Promise<Result> => {
      runs += 1
      const path = join(dir, `${perBlock}-${runs}.db`)
      await writeReceipts(path, paid)
      const found = result.parse(await runWorker(script, [path, chain.url]))
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
      if (found.verified !== receiptsCount || found.differences > 0) {
        throw new Error(`${found.verified} verified, ${found.differences} scores differ`)
      }
      return found
    }
    const samples = await interleave(
      [
        { name: 'job', measure: () => measure(checkScript) },
        { name: 'one by one', measure: () => measure(singlyScript) },
      ],
      quick ? 2 : 3,
    )
    const what = `${receiptsCount.toLocaleString('en-US')} receipts, ${perBlock} to a block`
    const perSecond = ({ ms }: Result): number => (receiptsCount * 1000) / ms
    return comparison(
      { what, perSecond },
      samples.get('job') ?? [],
      samples.get('one by one') ?? [],
    )
  } finally {
    await chain.stop()
  }
}

function comparison(
  { what, perSecond }: { what: string; perSecond: (found: Result) => number },
  ours: readonly Result[],
  peer: readonly Result[],
): Row[] {
  const row = (name: string, unit: string, pick: (found: Result) => number, also = {}) =>
    compare({
      what: `${what}, ${name}`,
      unit,
      ours: ours.map(pick),
      peerName: 'one by one',
      peer: peer.map(pick),
      also,
    })
  return [
    row('RPC calls', 'calls', ({ calls }) => calls),
    row('requests', 'requests', ({ requests }) => requests),
    row('time', 'ms', ({ ms }) => ms, {
      ...alongside('receipts/s', ours.map(perSecond), peer.map(perSecond)),
    }),
    row('peak memory', 'MB', ({ peakMb }) => peakMb),
  ]
}
