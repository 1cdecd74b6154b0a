/** Documents from the cache of nginx with the shipped configuration, against its cache with nothing else configured. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { nginxUser, startNginx, startNginxWith } from '../../../test/support/edge.ts'
import { requestText } from '../../../test/support/keep-alive.ts'
import { isRunnable } from '../../../test/support/runnable.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import type { Sample, Suite } from '../bench.ts'
import { load, buildOnce, startService } from '../processes.ts'

const reads = [
  { what: 'a rail', path: '/api/v1/rails/x402', coding: 'identity' },
  { what: 'all rails as brotli', path: '/api/v1/rails', coding: 'br' },
  { what: 'the home page as brotli', path: '/', coding: 'br' },
]
type Read = Omit<(typeof reads)[number], 'what'>

export const edge: Suite = {
  about: 'documents from the cache of nginx as shipped, against its cache alone',
  prepare: async ({ dir, quick, running }) => {
    buildOnce(dir)
    const env = { TRUSTED_PROXIES: '127.0.0.1' }
    const service = await running(startService(dir, { readyPath: '/api/v1/rails', env }))
    const servicePort = service.address.port
    const shipped = await running(startNginx({ servicePort, publicDir: join(dir, 'public') }))
    const plain = await running(startNginxWith(cacheOf(servicePort)))
    const measure = isRunnable('wrk')
      ? loadByWrk(quick ? 1 : 5)
      : loadByNode(quick ? 10_000 : 60_000)
    return reads.map(({ what, ...read }) => ({
      what,
      ours: () => measure(shipped, read),
      peer: ['cache of nginx', () => measure(plain, read)],
      figures: { perSecond: { leastRatio: 0.97 } },
    }))
  },
}

/** It closes connections as late as the shipped configuration does. */
const cacheOf = (servicePort: number) => (dir: string, port: number) =>
  `
${nginxUser}
worker_processes auto;
pid ${dir}/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 10000;
  client_body_temp_path ${dir}/state/body;
  proxy_temp_path ${dir}/state/proxy;
  proxy_cache_path ${dir}/state/cache keys_zone=cache:20m use_temp_path=off;
  server {
    listen 127.0.0.1:${port};
    proxy_cache cache;
    location / { proxy_pass http://127.0.0.1:${servicePort}; }
  }
}
`

/** A client in Node takes more CPU time than nginx, which hides most of a difference. */
const loadByNode =
  (count: number) =>
  async (server: ServerProcess, { path, coding }: Read): Promise<Sample> => {
    const request = requestText({ path, headers: { 'Accept-Encoding': coding } })
    return await load(server, Array<Buffer>(count).fill(Buffer.from(request)), count / 4)
  }

const loadByWrk =
  (seconds: number) =>
  async ({ origin }: ServerProcess, { path, coding }: Read): Promise<Sample> => {
    const header = `Accept-Encoding: ${coding}`
    const args = ['-t1', '-c64', `-d${seconds}s`, '-H', header, origin + path]
    const { stdout } = await promisify(execFile)('wrk', args)
    if (stdout.includes('Non-2xx')) throw new Error(stdout)
    return { perSecond: Number(/Requests\/sec: +([\d.]+)/.exec(stdout)?.[1]) }
  }
