/** From the start of the process to its first answer, and its memory at rest, with a large ledger. */
import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import { freePort, startServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import type { Sample, Suite } from '../bench.ts'
import {
  cpuUsOf,
  databaseIn,
  programOf,
  runProgram,
  startPeer,
  startService,
} from '../processes.ts'

const probeEveryMs = 2
const nothing = () => runProgram(['-e', '0'])

async function help(): Promise<Sample> {
  const { ms } = await runProgram([programOf('scripts/cli/main.js'), '--help'])
  return { ms, moreMs: ms - (await nothing()).ms }
}

/** `npm start` in a new clone without settings; only the port is free. */
async function startOfStranger(home: string): Promise<Sample> {
  execFileSync('git', ['clone', '--quiet', packageRoot, home])
  symlinkSync(join(packageRoot, 'node_modules'), join(home, 'node_modules'))
  const port = await freePort()
  const { readyAfterMs, stop } = await startServer('npm', port, {
    args: ['--prefix', home, 'start'],
    env: { PORT: String(port) },
    readyPath: '/api/v1/rails',
  })
  await stop()
  return { firstDocumentsMs: readyAfterMs }
}

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
    let checkouts = 0
    // Reads the files into the page cache.
    await ours()
    return [
      {
        what: 'start to first answer',
        ours,
        peer: ['its libraries', measure(() => startPeer('hono-app', { probeEveryMs, env }))],
        figures: { cpuMs: { mostRatio: 1.3 }, firstAnswerMs: {}, restMb: { most: 150 } },
      },
      {
        what: 'command line, --help',
        ours: help,
        peer: ['node -e 0', nothing],
        figures: { ms: {}, moreMs: { most: 200 } },
      },
      {
        what: 'npm start in a clean checkout',
        ours: () => startOfStranger(join(dir, `checkout-${(checkouts += 1)}`)),
        figures: { firstDocumentsMs: { most: 6000 } },
      },
    ]
  },
}
