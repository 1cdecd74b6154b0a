/** Servers as child processes. */
import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { packageRoot } from '../../src/runtime/runtime.ts'
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

export interface ServerOptions {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The server is ready when it answers this path with 200, or with any status if `anyStatus` is set. */
  readonly readyPath: string
  readonly anyStatus?: boolean
  readonly probeEveryMs?: number
}

/** The bundle of a program of this checkout. */
export const programOf = (source: string): string =>
  join(packageRoot, 'dist', source.replace(/\.ts$/, '.js'))

/** Settings of a ledger in a folder that reads no network. */
export function ledgerIn(dir: string): Readonly<Record<string, string>> {
  const [DATA_DIR, PUBLIC_DIR] = [join(dir, 'run'), join(dir, 'public')]
  return { DATA_DIR, PUBLIC_DIR, DATABASE_URL: '', LOG_LEVEL: 'warn', POLL: 'off' }
}

/** Starts the service of a ledger in a folder, without builder, limits, polls or a log line per request. */
export async function startLedger(
  dir: string,
  options: Partial<ServerOptions> = {},
): Promise<ServerProcess> {
  const env = { ...ledgerIn(dir), LIMITS: 'off', BUILDER: 'off', ...options.env }
  return await startNodeServer(programOf('src/main.ts'), { readyPath: '/healthz', ...options, env })
}

/** Publishes the documents of a ledger, and returns the peak of the memory of the builder. */
export function buildOnce(dir: string): { readonly peakMb: number } {
  const file = join(dir, 'status')
  const atExit = `import { readFileSync, writeFileSync } from 'node:fs'
    process.on('exit', () => writeFileSync('${file}', readFileSync('/proc/self/status')))`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(atExit)}`
  const env = { ...process.env, ...ledgerIn(dir), NODE_OPTIONS }
  const args = [programOf('builder/main.ts'), '--once']
  execFileSync(process.execPath, args, { env, stdio: 'inherit' })
  const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(file, 'utf8')) ?? []
  return { peakMb: (Number(kib) * 1024) / 1e6 }
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
