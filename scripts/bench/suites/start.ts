/** From the start of the process to its first answer, and its memory at rest, with a ledger of a million receipts. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { copyLedger, manyReceipts, workersCount } from '../ledger.ts'
import { cpuNs, startNodeServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'
import { interleave, row, rowsOf, valuesOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import { startService } from '../service.ts'
import type { Suite } from '../suite.ts'

const probe = { readyPath: '/healthz', probeEveryMs: 2 } as const
const peerScript = new URL('../peers/hono-app.js', import.meta.url)

export const start: Suite = {
  about: 'start to first answer and memory at rest, with very many receipts',
  run: async (context) => {
    const { dir, quick, log } = context
    const receipts = manyReceipts(context)
    log(`  the ledger of ${receipts} receipts is copied`)
    const databasePath = join(dir, 'run/ledger.db')
    await copyLedger(context, receipts, databasePath)
    const measure = (startServer: () => Promise<ServerProcess>) => async (): Promise<Sample> => {
      const server = await startServer()
      try {
        const [pid = 0] = server.pids()
        const cpuMs = cpuNs([pid]) / 1e6
        await sleep(quick ? 1500 : 3000)
        return { firstAnswerMs: server.readyAfterMs, cpuMs, restMb: residentMb(pid) }
      } finally {
        await server.stop()
      }
    }
    const service = measure(() => startService(dir, { ...probe, env: { LIMITS: 'on' } }))
    // Reads the files into the cache of the system.
    await service()
    const samples = await interleave(quick ? 2 : 7, {
      service,
      hono: measure(() => startNodeServer(peerScript, probe)),
    })
    const peerMs = valuesOf(samples('hono'), 'firstAnswerMs')
    const ours = samples('service').map((sample, round) => ({
      ...sample,
      excessMs: Number(sample['firstAnswerMs']) - (peerMs[round] ?? NaN),
    }))
    const size = `${receipts.toLocaleString('en-US')} receipts`
    const peer = { name: 'empty Hono app', samples: samples('hono') }
    return {
      rows: rowsOf(ours, peer, [
        row(`start to first answer, ${size}`, 'ms', 'firstAnswerMs', {
          also: { 'cpu ms': 'cpuMs' },
        }),
        row(`start, ${size}, more than the peer`, 'ms', 'excessMs', {
          peer: { ...peer, figure: 'firstAnswerMs' },
          target: { of: 'ours', atMost: 500 },
        }),
        row(`memory at rest, ${size}`, 'MB', 'restMb', { target: { of: 'ours', atMost: 150 } }),
      ]),
      skipped: [],
      facts: {
        receipts,
        workers: Math.min(receipts, workersCount),
        database_mb: Math.round(statSync(databasePath).size / 2 ** 20),
      },
    }
  },
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
