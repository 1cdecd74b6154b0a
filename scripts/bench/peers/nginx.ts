/** nginx three times: as a plain file server at its fastest, as a cache at its least, and with the configuration that is shipped. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { freePort, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'

/** The version line; null where nginx is not installed. */
export function nginxVersion(): string | null {
  const { error, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  return error === undefined ? stderr.trim().replace('nginx version: ', '') : null
}

const user = userInfo().uid === 0 ? 'user root;' : ''

/** One worker, as the service is one process; what a cache and a file server need at their fastest, and nothing else. */
const leastConf = (dir: string, inHttp: string): string => `${user}
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

export async function startFileServer(
  dir: string,
  root: string,
  readyPath: string,
): Promise<ServerProcess> {
  const port = await freePort()
  const conf = leastConf(
    dir,
    `  types { application/json json; }
  server {
    listen 127.0.0.1:${port};
    root ${root};
    add_header Cache-Control "public, max-age=60";
  }`,
  )
  return start(dir, conf, port, readyPath)
}

/** A cache before the service that knows nothing of it: what nginx's own cache costs at least. */
export async function startCacheAlone(
  dir: string,
  { servicePort, readyPath }: { readonly servicePort: number; readonly readyPath: string },
): Promise<ServerProcess> {
  const port = await freePort()
  const conf = leastConf(
    dir,
    `  proxy_cache_path ${dir}/state/cache keys_zone=alone:1m use_temp_path=off;
  proxy_http_version 1.1;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_cache alone;
      proxy_cache_key $request_uri;
      proxy_ignore_headers Vary;
      proxy_pass http://127.0.0.1:${servicePort};
    }
  }`,
  )
  return start(dir, conf, port, readyPath)
}

export async function startShippedNginx(
  dir: string,
  options: { readonly publicDir: string; readonly servicePort: number; readonly readyPath: string },
): Promise<ServerProcess> {
  const port = await freePort()
  const shipped = readFileSync(join(packageRoot, 'scripts/deploy/nginx.conf'), 'utf8')
  const conf = [
    ['user www-data;', user],
    ['worker_processes auto;', 'worker_processes 1;'],
    ['pid /run/nginx.pid;', `pid ${dir}/nginx.pid;`],
    ['/var/lib/nginx/', `${dir}/state/`],
    ['keepalive_requests 10000;', 'keepalive_requests 1000000000;'],
    ['listen 80 default_server;', `listen 127.0.0.1:${port} default_server;`],
    ['server 127.0.0.1:8787;', `server 127.0.0.1:${options.servicePort};`],
    ['/var/lib/agent-income-ledger/public/', `${options.publicDir}/`],
  ].reduce((text, [from = '', to = '']) => {
    if (!text.includes(from)) throw new Error(`nginx.conf has no ${from}`)
    return text.replaceAll(from, to)
  }, shipped)
  return start(dir, conf, port, options.readyPath)
}

function start(dir: string, conf: string, port: number, readyPath: string): Promise<ServerProcess> {
  mkdirSync(join(dir, 'state'), { recursive: true })
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, conf)
  const args = ['-c', file, '-p', dir, '-g', 'daemon off;']
  return startServer({ program: 'nginx', args, port, readyPath })
}
