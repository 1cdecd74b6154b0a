/** From the start of the process to its first answer, and its memory at rest, with a ledger of a million receipts. */
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { startNodeServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { cpuUsOf } from '../cpu.ts'
import { makeLedger, manyReceipts } from '../ledger.ts'
import { atMost, row, rowsOf } from '../rows.ts'
import { interleave } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { databasePathIn, startService } from '../service.ts'
import type { Suite } from '../suite.ts'

const probe = { readyPath: '/healthz', probeEveryMs: 2 } as const
const peerScript = new URL('../peers/hono-app.js', import.meta.url)

export const start: Suite = {
  about: 'start to first answer and memory at rest, with very many receipts',
  run: async ({ dir, quick }) => {
    const receipts = manyReceipts(quick)
    await makeLedger(databasePathIn(dir), receipts)
    const measure = (startServer: () => Promise<ServerProcess>) => async (): Promise<Sample> => {
      const { pid, readyAfterMs, stop } = await startServer()
      try {
        const cpuMs = cpuUsOf(pid) / 1000
        await sleep(quick ? 1500 : 3000)
        return { firstAnswerMs: readyAfterMs, cpuMs, restMb: residentMb(pid) }
      } finally {
        await stop()
      }
    }
    const service = measure(() => startService(dir, { ...probe, env: { LIMITS: 'on' } }))
    // Reads the files into the cache of the system.
    await service()
    const peer = measure(() => startNodeServer(peerScript, probe))
    const measured = await interleave(quick ? 2 : 7, { service, 'empty Hono app': peer })
    const samples = measured.map((sample) => ({
      ...sample,
      'service.excessMs':
        Number(sample['service.firstAnswerMs']) - Number(sample['empty Hono app.firstAnswerMs']),
    }))
    const size = `${receipts.toLocaleString('en-US')} receipts`
    const [ours, other] = ['service', 'empty Hono app']
    const more = `start, ${size}, more than the peer`
    return {
      rows: rowsOf(samples, [
        row(
          `start to first answer, ${size}`,
          'ms',
          `${ours}.firstAnswerMs`,
          `${other}.firstAnswerMs`,
        ),
        row(`start, ${size}, CPU`, 'ms', `${ours}.cpuMs`, `${other}.cpuMs`),
        row(more, 'ms', `${ours}.excessMs`, `${other}.firstAnswerMs`, atMost(500)),
        row(`memory at rest, ${size}`, 'MB', `${ours}.restMb`, `${other}.restMb`, atMost(150)),
      ]),
      facts: { database_mb: Math.round(statSync(databasePathIn(dir)).size / 2 ** 20) },
    }
  },
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
