/** Starts: of the service, of the command line, of a new clone; and the size of an installation. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import { freePort, startServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import type { Sample, Suite } from '../bench.ts'
import { cpuUsOf, databaseIn, programOf, runProgram } from '../processes.ts'
import { startPeer, startService } from '../processes.ts'

export const start: Suite = async ({ dir, receipts }) => {
  await fillLedger(databaseIn(dir), receipts)
  const measure = async (starting: Promise<ServerProcess>) => {
    const server = await starting
    const cpuMs = cpuUsOf(server) / 1000
    await server.stop()
    return { cpuMs }
  }
  const probeEveryMs = 2
  const ours = () => measure(startService(dir, { probeEveryMs, env: { LIMITS: 'on' } }))
  const env = { DATABASE: databaseIn(dir) }
  // Reads the files into the page cache.
  await ours()
  return {
    what: 'start to first answer',
    ours,
    peer: ['its libraries', () => measure(startPeer('hono-app', { probeEveryMs, env }))],
    targets: { cpuMs: ['mostRatio', 1.3] },
  }
}

export const install: Suite = async ({ dir }) => {
  let clones = 0
  const nothing = () => runProgram(['-e', '0'])
  const help = () => runProgram([programOf('scripts/cli/main.js'), '--help'])
  const installed = installIn(join(dir, 'installed'))
  return await Promise.resolve([
    {
      what: 'command line, --help, after node -e 0',
      ours: async () => ({ moreMs: (await help()).ms - (await nothing()).ms }),
      targets: { moreMs: ['most', 200] },
    },
    {
      what: 'npm start in a new clone, to its first documents',
      ours: () => startClone(join(dir, `clone-${(clones += 1)}`)),
      targets: { ms: ['most', 6000] },
    },
    {
      what: 'npm ci --omit=dev',
      ours: () => Promise.resolve(installed),
      targets: { mb: ['most', 120] },
    },
  ])
}

/** `npm start` without settings; only the port is free. */
async function startClone(home: string): Promise<Sample> {
  execFileSync('git', ['clone', '--quiet', packageRoot, home])
  symlinkSync(join(packageRoot, 'node_modules'), join(home, 'node_modules'))
  const port = await freePort()
  const { readyAfterMs, stop } = await startServer('npm', port, {
    args: ['--prefix', home, 'start'],
    env: { PORT: String(port) },
    readyPath: '/api/v1/rails',
  })
  await stop()
  return { ms: readyAfterMs }
}

/** Needs the registry. */
function installIn(home: string): Sample {
  mkdirSync(home)
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
    cpSync(join(packageRoot, file), join(home, file))
  }
  execFileSync('npm', ['ci', '--omit=dev', '--prefix', home], { stdio: 'ignore' })
  const size = execFileSync('du', ['-sk', join(home, 'node_modules')], { encoding: 'utf8' })
  return { mb: (Number.parseInt(size, 10) * 1024) / 1e6 }
}
