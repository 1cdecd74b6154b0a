/** Programs: recomputing a rail, starts of the service, the command line and a new clone; the size of an installation. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { z } from 'zod'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { paymentsOf, pollAt } from '../../../test/support/invented-polls.ts'
import { cpuUsOf } from '../../../test/support/process-samples.ts'
import {
  buildOnce,
  freePort,
  programOf,
  startLedger,
  startServer,
} from '../../../test/support/server-process.ts'
import type { Sample, Suite } from '../bench.ts'
import { databaseIn, openLedger, runProgram, startPeer } from '../processes.ts'

/** `<url> <file>…`: downloads files of lines, and hashes each line. */
const hashLines = `import { createHash } from 'node:crypto'
  for (const file of process.argv.slice(2)) {
    const answer = await fetch(process.argv[1] + file)
    for (const line of [await answer.json()].flat()) createHash('sha256').update(String(line)).digest()
  }`

export const recompute: Suite = async ({ dir, many, running }) => {
  mkdirSync(dirname(databaseIn(dir)))
  const database = await running(openLedger(dir))
  const lines = many(100_000)
  const nowMs = Date.now()
  await pollAt(database, [nowMs], paymentsOf(nowMs, lines))
  buildOnce(dir)
  const { origin } = await running(startLedger(dir))
  const ledger = ['--ledger', origin, '--allow-unchecked']
  const ours = [programOf('scripts/cli/main.ts'), 'recompute', 'x402', ...ledger]
  const files = readdirSync(join(dir, 'public/evidence')).filter((name) => name.endsWith('.json'))
  const peer = ['--input-type=module', '-e', hashLines, `${origin}/evidence/`, ...files]
  const what = `recompute ${lines.toLocaleString('en-US')} lines`
  const sides = {
    ours: () => runProgram(ours),
    peer: ['read and hash', () => runProgram(peer)],
  } as const
  return [{ what, ...sides, targets: { ms: { mostRatio: 3 } } }]
}

export const start: Suite = async ({ dir, fill }) => {
  await fill()
  const measure = async (starting: ReturnType<typeof startPeer>) => {
    const { pid, stop } = await starting
    const cpuMs = cpuUsOf(pid) / 1000
    await stop()
    return { cpuMs }
  }
  const probeEveryMs = 2
  const ours = () => measure(startLedger(dir, { probeEveryMs, env: { LIMITS: 'on' } }))
  const env = { DATABASE: databaseIn(dir) }
  // Reads the files into the page cache.
  await ours()
  const bare = () => measure(startPeer('hono-app', { probeEveryMs, env }))
  const peer = ['its libraries', bare] as const
  return [{ what: 'start to first answer', ours, peer, targets: { cpuMs: { mostRatio: 1.3 } } }]
}

export const install: Suite = async ({ dir }) => {
  const cli = [programOf('scripts/cli/main.ts'), '--help']
  const help = async () => {
    const [ours, nothing] = [await runProgram(cli), await runProgram(['-e', '0'])]
    return { moreMs: ours.ms - nothing.ms }
  }
  let clones = 0
  const cold = () => startLinked(join(dir, `clone-${(clones += 1)}`))
  return await Promise.resolve([
    { what: 'command line --help after node -e 0', ours: help, targets: { moreMs: { most: 200 } } },
    { what: 'npm start in a clone, to documents', ours: cold, targets: { ms: { most: 6000 } } },
    { what: 'packages of npm ci --omit=dev', ours: installed, targets: { mb: { most: 120 } } },
  ])
}

/** `npm start` in a new clone, without settings; only the port is free. */
async function startLinked(home: string): Promise<Sample> {
  execFileSync('git', ['clone', '--quiet', packageRoot, home])
  symlinkSync(join(packageRoot, 'node_modules'), join(home, 'node_modules'))
  const port = await freePort()
  const [args, env] = [['--prefix', home, 'start'], { PORT: String(port) }]
  const options = { args, env, readyPath: '/api/v1/rails' }
  const { readyAfterMs, stop } = await startServer('npm', port, options)
  await stop()
  return { ms: readyAfterMs }
}

/** The size of the packages that `npm ci --omit=dev` installs. */
function installed(): Promise<Sample> {
  const { packages } = lock.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  const paths = Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true)
  const present = paths.filter((path) => existsSync(path))
  const sizes = execFileSync('du', ['-skc', ...present], { encoding: 'utf8' })
  return Promise.resolve({ mb: (Number(/^\d+(?=\ttotal$)/m.exec(sizes)?.[0]) * 1024) / 1e6 })
}

const lock = z.object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) })
