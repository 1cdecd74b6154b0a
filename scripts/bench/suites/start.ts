/** From the start of the process to its first answer, and its memory at rest, with a ledger of a million receipts. */
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { startNodeServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { cpuUsOf } from '../cpu.ts'
import { makeLedger, manyReceipts } from '../ledger.ts'
import { atMost, ratioAtMost, row, rowsOf } from '../rows.ts'
import { interleave } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { databasePathIn, startService } from '../service.ts'
import { benchProgram } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const probe = { readyPath: '/healthz', probeEveryMs: 2 } as const
const peerScript = benchProgram('peers/hono-app')

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
    const peerEnv = { DATABASE: databasePathIn(dir) }
    const peer = measure(() => startNodeServer(peerScript, { ...probe, env: peerEnv }))
    const samples = await interleave(quick ? 3 : 7, { service, libraries: peer })
    const size = `${receipts.toLocaleString('en-US')} receipts`
    return {
      rows: rowsOf(samples, [
        row(
          `start to first answer, ${size}, CPU`,
          'ms',
          'service.cpuMs',
          'libraries.cpuMs',
          ratioAtMost(1.3),
        ),
        row(
          `start to first answer, ${size}`,
          'ms',
          'service.firstAnswerMs',
          'libraries.firstAnswerMs',
        ),
        row(`memory at rest, ${size}`, 'MB', 'service.restMb', 'libraries.restMb', atMost(150)),
      ]),
      facts: { database_mb: Math.round(statSync(databasePathIn(dir)).size / 2 ** 20) },
    }
  },
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
