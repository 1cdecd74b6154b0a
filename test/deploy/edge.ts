/** The shipped configurations, started as they are but for ports and paths. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Address } from '../support/raw-http.ts'

export interface Edge {
  readonly address: Address
  readonly stop: () => Promise<void>
}

export interface EdgeOptions {
  readonly servicePort: number
  readonly publicDir: string
}

const deployDir = new URL('../../scripts/deploy/', import.meta.url)
const START_TIMEOUT_MS = 20_000

export async function startNginx({ servicePort, publicDir }: EdgeOptions): Promise<Edge> {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-nginx-'))
  mkdirSync(join(dir, 'state'))
  const port = await freePort()
  const conf = substitute('nginx.conf', [
    ['user www-data;', userInfo().uid === 0 ? 'user root;' : ''],
    ['pid /run/nginx.pid;', `pid ${dir}/nginx.pid;`],
    ['/var/lib/nginx/', `${dir}/state/`],
    ['listen 80 default_server;', `listen 127.0.0.1:${port} default_server;`],
    ['server 127.0.0.1:8787;', `server 127.0.0.1:${servicePort};`],
    ['/var/lib/agent-income-ledger/public/', `${publicDir}/`],
  ])
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, conf)
  return run('nginx', ['-c', file, '-p', dir, '-g', 'daemon off;'], dir, port)
}

export async function startCaddy({ servicePort, publicDir }: EdgeOptions): Promise<Edge> {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-caddy-'))
  const port = await freePort()
  const conf = substitute('Caddyfile', [
    ['http://:80 {', `http://:${port} {`],
    ['reverse_proxy 127.0.0.1:8787 {', `reverse_proxy 127.0.0.1:${servicePort} {`],
    ['/var/lib/agent-income-ledger/public/', `${publicDir}/`],
  ])
  const file = join(dir, 'Caddyfile')
  writeFileSync(file, conf)
  return run('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], dir, port)
}

/** Every text to replace has to stand there: what is not replaced would be tested elsewhere. */
function substitute(name: string, replacements: readonly (readonly [string, string])[]): string {
  let text = readFileSync(new URL(name, deployDir), 'utf8')
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}

async function run(
  program: string,
  args: readonly string[],
  dir: string,
  port: number,
): Promise<Edge> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir },
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  await once(child, 'spawn')
  const address = { host: '127.0.0.1', port }
  await untilListening(child, address, () => said)
  return {
    address,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function untilListening(
  child: ChildProcess,
  address: Address,
  said: () => string,
): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS
  while (!(await canConnect(address))) {
    if (child.exitCode !== null || performance.now() > deadlineMs) {
      child.kill('SIGKILL')
      throw new Error(`it does not listen: ${said()}`)
    }
    await sleep(20)
  }
}

function canConnect({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}
