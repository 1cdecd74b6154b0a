/** Servers and tasks as separate processes, and the CPU time that processes used. Linux only: reads `/proc`. */
import { fork, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { z } from 'zod'

import type { Sample } from './rows.ts'

const startTimeoutMs = 120_000
const host = '127.0.0.1'

export interface ServerProcess {
  readonly origin: string
  readonly port: number
  readonly pids: () => readonly number[]
  readonly readyAfterMs: number
  readonly stop: () => Promise<void>
}

interface ServerOptions {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly readyPath: string
  readonly probeEveryMs?: number
}

/** Starts a Node server, which gets its address by `HOST`, `PORT` and `SITE_URL`, and waits until `readyPath` is answered with 200. */
export async function startNodeServer(
  script: string | URL,
  { args = [], env = {}, ...options }: Partial<ServerOptions> & Pick<ServerOptions, 'readyPath'>,
): Promise<ServerProcess> {
  const port = await freePort()
  return await startServer(process.execPath, port, {
    ...options,
    args: [typeof script === 'string' ? script : fileURLToPath(script), ...args],
    env: { HOST: host, PORT: String(port), SITE_URL: `http://${host}:${port}`, ...env },
  })
}

export async function startServer(
  command: string,
  port: number,
  { args, env = {}, readyPath, probeEveryMs = 20 }: ServerOptions,
): Promise<ServerProcess> {
  const startedMs = performance.now()
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk.toString('utf8')}`.slice(-4000)
  })
  await once(child, 'spawn')
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  while (!(await isReady(port, readyPath))) {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${errors}`)
    if (performance.now() - startedMs > startTimeoutMs) {
      await stop()
      throw new Error(`${command} ${args.join(' ')} does not answer: ${errors}`)
    }
    await sleep(probeEveryMs)
  }
  const readyAfterMs = performance.now() - startedMs
  const pids = () => withChildren(child.pid ?? 0)
  return { origin: `http://${host}:${port}`, port, pids, readyAfterMs, stop }
}

function isReady(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host, port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}

export interface Task {
  /** Resolves with its next message; see `report` in `task.ts`. */
  readonly next: () => Promise<Sample>
  /** Lets it go on; see `waitForGo` in `task.ts`. */
  readonly go: () => void
}

const message = z.record(z.string(), z.union([z.number(), z.string()]))

export function startTask(name: string, ...args: readonly (string | number)[]): Task {
  const child = fork(new URL(`./tasks/${name}.js`, import.meta.url), args.map(String))
  const messages = on(child, 'message', { close: ['exit'] })
  return {
    next: async () => {
      const next: IteratorResult<readonly unknown[], unknown> = await messages.next()
      if (next.done === true) throw new Error(`the task ${name} ended early`)
      return message.parse(next.value[0])
    },
    go: () => void child.send('go'),
  }
}

export async function runTask(
  name: string,
  ...args: readonly (string | number)[]
): Promise<Sample> {
  return await startTask(name, ...args).next()
}

/** CPU time that all threads of the processes have used so far, in nanoseconds. */
export function cpuNs(pids: readonly number[]): number {
  const threads = pids.flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((id) => [pid, id]))
  return threads.reduce((sum, [pid, id]) => sum + threadCpuNs(Number(pid), Number(id)), 0)
}

/** CPU time of one thread; the event loop is the thread with the id of its process. */
export function threadCpuNs(pid: number, thread: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
}

function withChildren(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number).flatMap(withChildren))]
}

export interface TimeSpent {
  readonly wallMs: number
  /** CPU time of this process and of its ended children. */
  readonly cpuMs: number
}

/** Returns a function that returns the time spent since. */
export function startStopwatch(): () => TimeSpent {
  const startedMs = performance.now()
  const cpuAtStartMs = ownCpuMs()
  return () => ({ wallMs: performance.now() - startedMs, cpuMs: ownCpuMs() - cpuAtStartMs })
}

/** proc_pid_stat(5): `utime`, `stime`, `cutime` and `cstime`, in ticks of 10 ms. */
function ownCpuMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The program name is in parentheses and may contain spaces; `utime` is the 12th word after it.
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return words.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
}
