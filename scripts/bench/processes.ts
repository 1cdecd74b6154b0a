/** Starts the measured programs, sends load to them, and reads their CPU time from `/proc` (Linux only). */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { createCheckThreads } from '../../src/auth/check-threads.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { openConnections, p99Of, sendQueue } from '../../test/support/clients.ts'
import { requestText } from '../../test/support/keep-alive.ts'
import { quietLog } from '../../test/support/quiet-log.ts'
import { startNodeServer } from '../../test/support/server-process.ts'
import type { ServerProcess } from '../../test/support/server-process.ts'
import type { Sample } from './bench.ts'

export const databaseIn = (dir: string): string => join(dir, 'run/ledger.db')
export const programOf = (source: string): string => join(packageRoot, 'dist', source)

type Start = Partial<Parameters<typeof startNodeServer>[1]>

/** Starts the service without builder, limits, polls or a log line per request. */
export async function startService(dir: string, start: Start = {}): Promise<ServerProcess> {
  const env = { ...settingsIn(dir), LIMITS: 'off', BUILDER: 'off', ...start.env }
  return await startNodeServer(programOf('src/main.js'), { readyPath: '/healthz', ...start, env })
}

export async function startPeer(name: string, start: Start = {}): Promise<ServerProcess> {
  const program = programOf(`scripts/bench/peers/${name}.js`)
  return await startNodeServer(program, { readyPath: '/healthz', ...start })
}

/** Publishes the documents of a ledger. */
export function buildOnce(dir: string): void {
  const env = { ...process.env, ...settingsIn(dir) }
  const args = [programOf('builder/main.js'), '--once']
  execFileSync(process.execPath, args, { env, stdio: 'inherit' })
}

function settingsIn(dir: string): Readonly<Record<string, string>> {
  const [DATA_DIR, PUBLIC_DIR] = [join(dir, 'run'), join(dir, 'public')]
  return { DATA_DIR, PUBLIC_DIR, LOG_LEVEL: 'warn', POLL: 'off' }
}

/** Returns how long a program takes. @throws Error unless it exits with 0 */
export async function runProgram(args: readonly string[]): Promise<{ readonly ms: number }> {
  return await timed(async () => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    await once(child, 'exit')
    if (child.exitCode !== 0) throw new Error(`failed: ${args.join(' ')}`)
  })
}

/** As the service starts it on two cores. */
export const oneCheckThread = () =>
  createCheckThreads(pathToFileURL(programOf('src/auth/check-worker.js')), {
    cores: 2,
    log: quietLog,
  })

export async function timed<T>(work: () => Promise<T> | T) {
  const startedMs = performance.now()
  const cpu = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 }
}

/** CPU time of all threads of a process, in microseconds. */
export function cpuUsOf({ pid }: Pick<ServerProcess, 'pid'>): number {
  const tasks = `/proc/${pid}/task`
  const times = readdirSync(tasks).map((thread) =>
    Number(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return times.reduce((sum, ns) => sum + ns / 1000, 0)
}

/** Sends the requests over connections that stay open, and measures without the first quarter. @throws Error for a refusal */
export async function load(
  servers: readonly ServerProcess[],
  requests: readonly string[],
  clients = 64,
): Promise<Sample> {
  const share = Math.ceil(clients / servers.length)
  const opened = await Promise.all(servers.map(({ address }) => openConnections(address, share)))
  const connections = opened.flat()
  const send = async (part: readonly string[]) => {
    const answers = await sendQueue(connections, part, { over: new AbortController().signal })
    const refused = answers.find(({ status }) => ![200, 201, 304].includes(status))
    if (refused !== undefined) throw new Error(`answered with ${refused.status}`)
    return answers
  }
  const cpuUs = () => servers.reduce((sum, one) => sum + cpuUsOf(one), 0)
  const warm = Math.floor(requests.length / 4)
  await send(requests.slice(0, warm))
  const before = cpuUs()
  const { result: answers, ms } = await timed(() => send(requests.slice(warm)))
  const perRequest = (cpuUs() - before) / answers.length
  for (const { close } of connections) close()
  return { cpuUs: perRequest, perSecond: (answers.length / ms) * 1000, p99Ms: p99Of(answers) }
}

/** Sends one request many times. */
export async function repeat(
  server: ServerProcess,
  request: Parameters<typeof requestText>[0],
  count: number,
  clients?: number,
): Promise<Sample> {
  return await load([server], Array<string>(count).fill(requestText(request)), clients)
}
