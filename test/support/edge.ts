/** nginx and Caddy with the shipped configurations; only ports and paths differ. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

import { packageRoot } from '../../src/runtime/runtime.ts'
import { freePort, startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'

export interface EdgeOptions {
  readonly servicePort: number
  readonly publicDir: string
  /** The default is the shipped configuration. */
  readonly config?: string
  /** Further texts of the configuration and what replaces them. */
  readonly changes?: readonly Replacement[]
}

type Replacement = readonly [from: string, to: string]

/** Its workers may read the files of this user. */
const nginxUser = userInfo().uid === 0 ? 'user root;' : ''

export async function startNginx(options: EdgeOptions): Promise<ServerProcess> {
  const { servicePort, publicDir, config = 'scripts/deploy/nginx.conf', changes = [] } = options
  return await run('nginx', (dir, port) => {
    mkdirSync(join(dir, 'state'))
    const file = join(dir, 'nginx.conf')
    const conf = substitute(config, [
      ['user www-data;', nginxUser],
      ['pid /run/nginx.pid;', `pid ${dir}/nginx.pid;`],
      ['/var/lib/nginx/', `${dir}/state/`],
      ['listen 80 default_server;', `listen 127.0.0.1:${port} default_server;`],
      ['server 127.0.0.1:8787;', `server 127.0.0.1:${servicePort};`],
      ['/var/lib/agent-income-ledger/public/', `${publicDir}/`],
      ...changes,
    ])
    writeFileSync(file, conf)
    return ['-c', file, '-p', dir, '-g', 'daemon off;']
  })
}

export async function startCaddy({ servicePort, publicDir }: EdgeOptions): Promise<ServerProcess> {
  return await run('caddy', (dir, port) => {
    const conf = substitute('scripts/deploy/Caddyfile', [
      ['http://:80 {', `http://:${port} {`],
      ['reverse_proxy 127.0.0.1:8787 {', `reverse_proxy 127.0.0.1:${servicePort} {`],
      ['/var/lib/agent-income-ledger/public/', `${publicDir}/`],
    ])
    const file = join(dir, 'Caddyfile')
    writeFileSync(file, conf)
    return ['run', '--config', file, '--adapter', 'caddyfile']
  })
}

/** @throws Error if the file does not contain a text, whose setting would then stay as shipped */
function substitute(path: string, replacements: readonly Replacement[]): string {
  const shipped = readFileSync(join(packageRoot, path), 'utf8')
  return replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${path} does not contain ${from}`)
    return text.replaceAll(from, to)
  }, shipped)
}

async function run(
  program: string,
  configure: (dir: string, port: number) => readonly string[],
): Promise<ServerProcess> {
  const dir = mkdtempSync(join(tmpdir(), `ledger-${program}-`))
  const port = await freePort()
  const env = { HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  const args = configure(dir, port)
  // An edge answers while its service is stopped, too.
  const ready = { readyPath: '/healthz', anyStatus: true } as const
  const server = await startServer(program, port, { args, env, ...ready })
  return {
    ...server,
    stop: async () => {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
