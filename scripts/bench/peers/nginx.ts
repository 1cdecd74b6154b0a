/** nginx as a plain file server, as a bare cache before the service, and with the shipped configuration. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { freePort, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'

export function nginxVersion(): string | null {
  const { error, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  return error === undefined ? stderr.trim().replace('nginx version: ', '') : null
}

const user = userInfo().uid === 0 ? 'user root;' : ''

/** One worker, like the service, and only what a cache and a file server need at their fastest. */
const minimalConf = (dir: string, inHttp: string): string => `${user}
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=60s;
  client_body_temp_path ${dir}/state/body;
  proxy_temp_path ${dir}/state/proxy;
${inHttp}
}
`

export async function startNginxFiles(dir: string, root: string, readyPath: string) {
  return await startNginx(dir, readyPath, (port) =>
    minimalConf(
      dir,
      `  types { application/json json; }
  server {
    listen 127.0.0.1:${port};
    root ${root};
    add_header Cache-Control "public, max-age=60";
  }`,
    ),
  )
}

/** The least that a cache in nginx costs. */
export async function startNginxCache(dir: string, service: ServerProcess, readyPath: string) {
  return await startNginx(dir, readyPath, (port) =>
    minimalConf(
      dir,
      `  proxy_cache_path ${dir}/state/cache keys_zone=alone:1m use_temp_path=off;
  proxy_http_version 1.1;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_cache alone;
      proxy_cache_key $request_uri;
      proxy_ignore_headers Vary;
      proxy_pass ${service.origin};
    }
  }`,
    ),
  )
}

export async function startShippedNginx(
  dir: string,
  service: ServerProcess,
  publicDir: string,
  readyPath: string,
) {
  const shipped = readFileSync(join(packageRoot, 'scripts/deploy/nginx.conf'), 'utf8')
  return await startNginx(dir, readyPath, (port) =>
    [
      ['user www-data;', user],
      ['worker_processes auto;', 'worker_processes 1;'],
      ['pid /run/nginx.pid;', `pid ${dir}/nginx.pid;`],
      ['/var/lib/nginx/', `${dir}/state/`],
      ['keepalive_requests 10000;', 'keepalive_requests 1000000000;'],
      ['listen 80 default_server;', `listen 127.0.0.1:${port} default_server;`],
      ['server 127.0.0.1:8787;', `server 127.0.0.1:${service.port};`],
      ['/var/lib/agent-income-ledger/public/', `${publicDir}/`],
    ].reduce((conf, [from = '', to = '']) => {
      if (!conf.includes(from)) throw new Error(`nginx.conf does not contain ${from}`)
      return conf.replaceAll(from, to)
    }, shipped),
  )
}

async function startNginx(
  dir: string,
  readyPath: string,
  confOf: (port: number) => string,
): Promise<ServerProcess> {
  mkdirSync(join(dir, 'state'), { recursive: true })
  const port = await freePort()
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, confOf(port))
  return await startServer('nginx', port, {
    args: ['-c', file, '-p', dir, '-g', 'daemon off;'],
    readyPath,
  })
}
