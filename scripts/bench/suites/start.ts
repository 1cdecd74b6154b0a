/** From the start of the process to its first answer, and its memory at rest, with a large ledger. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { fillLedger } from '../../../test/support/large-ledger.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import type { Suite } from '../bench.ts'
import { cpuUsOf, databaseIn, startPeer, startService } from '../processes.ts'

const probeEveryMs = 2

export const start: Suite = {
  about: 'start to first answer and memory at rest, with a large ledger',
  prepare: async ({ dir, quick }) => {
    await fillLedger(databaseIn(dir), quick ? 100_000 : 1_000_000)
    const measure = (startServer: () => Promise<ServerProcess>) => async () => {
      const { pid, readyAfterMs, stop } = await startServer()
      const cpuMs = cpuUsOf(pid) / 1000
      await sleep(quick ? 1500 : 3000)
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      await stop()
      const restMb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
      return { cpuMs, firstAnswerMs: readyAfterMs, restMb }
    }
    const ours = measure(() => startService(dir, { probeEveryMs, env: { LIMITS: 'on' } }))
    const env = { DATABASE: databaseIn(dir) }
    // Reads the files into the page cache.
    await ours()
    return [
      {
        what: 'start to first answer',
        ours,
        peer: ['its libraries', measure(() => startPeer('hono-app', { probeEveryMs, env }))],
        figures: {
          cpuMs: { unit: 'ms', mostRatio: 1.3 },
          firstAnswerMs: { unit: 'ms' },
          restMb: { unit: 'MB', most: 150 },
        },
      },
    ]
  },
}
