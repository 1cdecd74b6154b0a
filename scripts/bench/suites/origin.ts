/** Reads of documents: the service against bare node:http, and nginx as shipped against nginx with plain files. */
import { join } from 'node:path'

import { publish } from '../../../builder/publish/publish.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { startNginx } from '../../../test/support/edge.ts'
import { startNodeServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { silentLog } from '../../demo/polls.ts'
import { cpuUsOf, cpuUsOfFamily } from '../cpu.ts'
import { startNginxCache } from '../peers/nginx.ts'
import { atMost, ratioAtLeast, ratioAtMost, row, rowsOf } from '../rows.ts'
import type { BenchRow, Target } from '../rows.ts'
import { interleave } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { databasePathIn, startService } from '../service.ts'
import { benchProgram } from '../start-task.ts'
import type { Suite } from '../suite.ts'
import { isInstalled, runWrk } from '../wrk.ts'

const connections = 64
const sizesKb = [2, 30, 300] as const
const rawScript = benchProgram('peers/raw-http')

interface Contestant {
  readonly server: ServerProcess
  readonly path: string
  readonly etag?: string
}

export const origin: Suite = {
  about: 'documents of 2, 30 and 300 KB, and 304, against bare node:http and nginx',
  run: async ({ dir, quick, log }) => {
    if (!isInstalled('wrk')) return { rows: [], skipped: ['all rows: wrk is not installed'] }
    const [rounds, warmSeconds, seconds] = quick ? [3, 1, 1] : [7, 2, 4]
    const servers: ServerProcess[] = []
    const start = async (starting: Promise<ServerProcess>): Promise<ServerProcess> => {
      servers.unshift(await starting)
      return await starting
    }
    const rows: BenchRow[] = []
    try {
      const publicDir = await publishDocuments(dir)
      const env = { PUBLIC_DIR: publicDir }
      const readyPath = pathOf(30)
      const service = await start(startService(dir, { env, readyPath }))
      const args = [service.origin, ...sizesKb.map(pathOf)]
      const raw = await start(startNodeServer(rawScript, { args, readyPath }))

      const measure = async ({ server, path, etag }: Contestant): Promise<Sample> => {
        const url = `${server.origin}${path}`
        const headers = etag === undefined ? {} : { 'If-None-Match': etag }
        await runWrk({ url, headers, connections, seconds: warmSeconds })
        const before = cpuUsOfFamily(server.pid)
        const [serviceBefore, startedMs] = [cpuUsOf(service.pid), performance.now()]
        const { perSecond } = await runWrk({ url, headers, connections, seconds })
        const cpuUs = (cpuUsOfFamily(server.pid) - before) / (perSecond * seconds)
        const elapsedUs = (performance.now() - startedMs) * 1000
        const servicePercent = ((cpuUsOf(service.pid) - serviceBefore) / elapsedUs) * 100
        return { perSecond, cpuUs, servicePercent }
      }
      const compare = async (
        what: string,
        contestants: Readonly<Record<string, Contestant>>,
        cpuTarget: Target | null,
        rateTarget: Target | null = null,
      ): Promise<Sample[]> => {
        log(`  ${what}`)
        const measures = entriesOf(contestants).map(
          ([name, contestant]) => [name, () => measure(contestant)] as const,
        )
        const samples = await interleave(rounds, Object.fromEntries(measures))
        const [ours = '', peer = ''] = Object.keys(contestants)
        const [perSecond, cpuUs] = [`${ours}.perSecond`, `${ours}.cpuUs`]
        rows.push(
          ...rowsOf(samples, [
            row(`${what}, CPU`, 'us', cpuUs, `${peer}.cpuUs`, cpuTarget),
            row(what, '1/s', perSecond, `${peer}.perSecond`, rateTarget),
          ]),
        )
        return samples
      }
      for (const sizeKb of sizesKb) {
        const path = pathOf(sizeKb)
        const contestants = {
          service: { server: service, path },
          'node:http': { server: raw, path },
        }
        await compare(`${sizeKb} KB`, contestants, ratioAtMost(1.05))
      }
      for (const sizeKb of quick ? [2] : [2, 300]) {
        const path = pathOf(sizeKb)
        const etag = (await fetch(`${raw.origin}${path}`)).headers.get('etag') ?? ''
        const contestants = {
          service: { server: service, path, etag },
          'node:http': { server: raw, path: `/304${path}`, etag },
        }
        await compare(`${sizeKb} KB, 304`, contestants, ratioAtMost(1.1))
      }
      if (!isInstalled('nginx')) return { rows, skipped: ['behind nginx: nginx is not installed'] }

      const changes = [
        ['worker_processes auto;', 'worker_processes 1;'],
        ['keepalive_requests 10000;', 'keepalive_requests 1000000000;'],
      ] as const
      const servicePort = service.address.port
      const shipped = await start(startNginx({ servicePort, publicDir, changes }))
      const cache = await start(startNginxCache(servicePort))
      for (const sizeKb of quick ? [30] : [2, 30]) {
        const what = `behind nginx, ${sizeKb} KB`
        const path = pathOf(sizeKb)
        const contestants = {
          'nginx as shipped': { server: shipped, path },
          'nginx cache': { server: cache, path },
        }
        const samples = await compare(what, contestants, null, ratioAtLeast(0.97))
        const meanwhile = ['nginx as shipped.servicePercent', 'nginx cache.servicePercent'] as const
        const unit = '% of a core'
        rows.push(
          ...rowsOf(samples, [
            row(`${what}: the service meanwhile`, unit, ...meanwhile, atMost(1)),
          ]),
        )
      }
    } finally {
      for (const server of servers) await server.stop()
    }
    return { rows, facts: { connections } }
  },
}

/** A path that the shipped nginx configuration treats as the path of a document. */
function pathOf(sizeKb: number): string {
  return `/api/v1/rails/bench-${sizeKb}k`
}

/** Publishes documents of the sizes. Returns the public folder. */
async function publishDocuments(dir: string): Promise<string> {
  const publicDir = join(dir, 'public')
  const documents = sizesKb.map((sizeKb) => ({
    path: pathOf(sizeKb),
    contentType: 'application/json',
    // Longer than any run, so that nginx serves all reads from its cache.
    maxAgeSeconds: 86_400,
    body: { json: { text: 'x'.repeat(sizeKb * 1024 - '{"text":""}'.length) }, stamp: null },
    archive: null,
  }))
  const nowMs = Date.now()
  const { signer, ring } = await loadKeys({ dir: join(dir, 'keys'), nowMs })
  const check = () => Promise.resolve()
  const store = createDirectory({ publicDir, fence: 1, check })
  const facts = { sha256: '', compressed: () => Promise.resolve(new Uint8Array()) }
  const database = await openDatabase({ url: databasePathIn(dir) })
  const set = { siteUrl: 'http://localhost', documents, assetsDir: null, facts }
  await publish({ ...set, store, database, signer, ring, nowMs, log: silentLog })
  await database.close()
  return publicDir
}
