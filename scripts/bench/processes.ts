/** The measured processes, and their load. CPU times come from `/proc` (Linux only). */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { z } from 'zod'

import { createCheckThreads } from '../../src/auth/check-threads.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { openConnection, requestText } from '../../test/support/keep-alive.ts'
import { percentile } from '../../test/support/percentile.ts'
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

function settingsIn(dir: string): Readonly<Record<string, string>> {
  const [DATA_DIR, PUBLIC_DIR] = [join(dir, 'run'), join(dir, 'public')]
  return { DATA_DIR, PUBLIC_DIR, LOG_LEVEL: 'warn', POLL: 'off' }
}

/** Publishes the documents of a ledger. */
export function buildOnce(dir: string): void {
  execFileSync(process.execPath, [programOf('builder/main.js'), '--once'], {
    env: { ...process.env, ...settingsIn(dir) },
    stdio: 'inherit',
  })
}

export async function startPeer(name: string, start: Start = {}): Promise<ServerProcess> {
  return await startNodeServer(programOf(`scripts/bench/peers/${name}.js`), {
    readyPath: '/healthz',
    ...start,
  })
}

/** As the service starts it on two cores. */
export const oneCheckThread = () =>
  createCheckThreads(pathToFileURL(programOf('src/auth/check-worker.js')), {
    cores: 2,
    log: quietLog,
  })

export async function timed<T>(
  work: () => Promise<T> | T,
): Promise<{ readonly result: T; readonly ms: number; readonly cpuMs: number }> {
  const startedMs = performance.now()
  const cpu = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 }
}

/** CPU time of all threads of a process, in microseconds. */
export function cpuUsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  const times = readdirSync(tasks).map((thread) =>
    Number(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return times.reduce((sum, ns) => sum + ns / 1000, 0)
}

const sample = z.record(z.string(), z.number())

/** Runs a program, and adds the figures that it sends. @throws Error unless it exits with 0 */
export async function runProgram(
  args: readonly string[],
): Promise<Sample & { readonly ms: number }> {
  let sent: unknown = {}
  const { ms } = await timed(async () => {
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const
    const child = spawn(process.execPath, args, { stdio: [...stdio] })
    child.once('message', (message) => (sent = message))
    await once(child, 'exit')
    if (child.exitCode !== 0) throw new Error(`failed: ${args.join(' ')}`)
  })
  return { ...sample.parse(sent), ms }
}

/** Sends one request `warm + count` times to a server. */
export function repeat(
  request: Parameters<typeof requestText>[0],
  [warm, count]: readonly [number, number],
  clients?: number,
): (server: ServerProcess) => () => Promise<Sample> {
  const requests = Array<Buffer>(warm + count).fill(Buffer.from(requestText(request)))
  return (server) => () => load(server, requests, warm, clients)
}

/** Sends the requests over connections that stay open, and measures after the first `warm` of them. @throws Error for a refusal */
export async function load(
  server: ServerProcess | readonly ServerProcess[],
  requests: readonly Buffer[],
  warm: number,
  clients = 64,
): Promise<Sample> {
  const servers = [server].flat()
  const share = Math.ceil(clients / servers.length)
  const connections = await Promise.all(
    servers.flatMap(({ address }) => Array.from({ length: share }, () => openConnection(address))),
  )
  const cpuUsOfAll = () => servers.reduce((sum, { pid }) => sum + cpuUsOf(pid), 0)
  const sendAll = async (queue: ArrayIterator<Buffer>): Promise<number[]> => {
    const times: number[] = []
    const client = async ({ send }: (typeof connections)[number]) => {
      for (const request of queue) {
        const answer = await send(request)
        if (![200, 201, 304].includes(answer.status)) throw new Error(`refused: ${answer.text}`)
        times.push(answer.tookMs)
      }
    }
    await Promise.all(connections.map(client))
    return times
  }
  await sendAll(requests.slice(0, warm).values())
  const before = cpuUsOfAll()
  const { result: times, ms } = await timed(() => sendAll(requests.slice(warm).values()))
  const cpuUs = (cpuUsOfAll() - before) / times.length
  for (const { close } of connections) close()
  return { cpuUs, perSecond: (times.length / ms) * 1000, p99Ms: percentile(times, 0.99) }
}
