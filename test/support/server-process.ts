/** Servers as child processes. */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import type { Address } from './raw-http.ts'

const startTimeoutMs = 120_000
const host = '127.0.0.1'

export interface ServerProcess {
  readonly origin: string
  readonly address: Address
  readonly pid: number
  readonly readyAfterMs: number
  readonly stop: () => Promise<void>
}

interface ServerOptions {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The server is ready when it answers this path with 200, or with any status if `anyStatus` is set. */
  readonly readyPath: string
  readonly anyStatus?: boolean
  readonly probeEveryMs?: number
}

/** Starts a Node server, which gets its address by `HOST`, `PORT` and `SITE_URL`. */
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
  { args, env = {}, readyPath, anyStatus = false, probeEveryMs = 20 }: ServerOptions,
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
  for (;;) {
    const status = await statusOf(port, readyPath)
    if (status === 200 || (anyStatus && status !== null)) break
    if (child.exitCode !== null) throw new Error(`${command} ended: ${errors}`)
    if (performance.now() - startedMs > startTimeoutMs) {
      await stop()
      throw new Error(`${command} ${args.join(' ')} does not answer: ${errors}`)
    }
    await sleep(probeEveryMs)
  }
  const readyAfterMs = performance.now() - startedMs
  const origin = `http://${host}:${port}`
  return { origin, address: { host, port }, pid: child.pid ?? 0, readyAfterMs, stop }
}

/** Null without an answer. */
function statusOf(port: number, path: string): Promise<number | null> {
  return new Promise((resolve) => {
    get({ host, port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    }).on('error', () => resolve(null))
  })
}

/** Below the ports that systems give to connections and to servers that name none, so that nothing takes it in between. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer()
    const port = randomInt(20_000, 32_000)
    server.listen(port, host)
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
