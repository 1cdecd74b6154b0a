/** Reads of documents: the service against bare node:http and against nginx. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { loadGenerator } from '../load.ts'
import type { LoadGenerator } from '../load.ts'
import { CONNECTIONS, contest } from '../origin/contest.ts'
import type { Aim, Conditions, Sample, Timing } from '../origin/contest.ts'
import {
  ask,
  pathOf,
  publishDocuments,
  sizesKb,
  startFiles,
  startRaw,
  startService,
} from '../origin/servers.ts'
import { nginxVersion, startCacheAlone, startShippedNginx } from '../peers/nginx.ts'
import type { ServerProcess } from '../processes.ts'
import { compare } from '../rounds.ts'
import type { Row, Suite, SuiteContext, SuiteReport } from '../suite.ts'

export const origin: Suite = {
  about: 'documents of 2, 30 and 300 KB, and 304, against bare node:http and nginx',
  run: async (context) => {
    const timing: Timing = context.quick
      ? { rounds: 3, warmMs: 1000, warmsEachRound: false, measureMs: 1000 }
      : { rounds: 7, warmMs: 2000, warmsEachRound: true, measureMs: 4000 }
    const load = loadGenerator()
    const nginx = nginxVersion()
    const publicDir = await publishDocuments(context.dir)
    const service = await startService(context.dir, publicDir)
    const servers: ServerProcess[] = [service]
    try {
      const raw = await startRaw(context.dir, service)
      servers.push(raw)
      const rows = await originRows(context, {
        load,
        timing,
        say: context.say,
        service,
        raw,
        servers,
        publicDir,
      })
      return {
        rows,
        skipped: skippedBy(context.quick, nginx, load),
        facts: {
          load: load.name,
          connections: CONNECTIONS,
          nginx: nginx ?? 'not installed',
          node: process.version,
        },
      }
    } finally {
      for (const server of servers) await server.stop()
    }
  },
}

function skippedBy(
  quick: boolean,
  nginx: string | null,
  load: LoadGenerator,
): SuiteReport['skipped'] {
  const shortened = '--quick: it has no target'
  return [
    ...(nginx === null ? [{ what: 'behind nginx', why: 'nginx is not installed' }] : []),
    ...(quick
      ? [
          { what: 'nginx file beside the service', why: shortened },
          {
            what: '304 of 300 KB, and 2 KB behind nginx',
            why: '--quick: another size is measured',
          },
        ]
      : []),
    ...(load.takesScripts ? [] : [{ what: 'limits on', why: 'wrk is not installed' }]),
  ]
}

interface Field extends Conditions {
  readonly service: ServerProcess
  readonly raw: ServerProcess
  /** Whatever is started is added here, so that it is stopped. */
  readonly servers: ServerProcess[]
  readonly publicDir: string
}

async function originRows(context: SuiteContext, field: Field): Promise<Row[]> {
  const { service, raw, servers, publicDir } = field
  const files = nginxVersion() === null ? null : await startFiles(context.dir, publicDir)
  if (files !== null) servers.push(files)
  // It has no target beside the service, so that short runs can do without.
  const comparedFiles = context.quick ? null : files
  const rows: Row[] = []
  for (const sizeKb of sizesKb) {
    const path = pathOf(sizeKb)
    const ours = { name: 'service', server: service, target: path, headers: {} }
    const peers = [
      { name: 'node:http', server: raw, target: path, headers: {} },
      ...(comparedFiles === null
        ? []
        : [{ name: 'nginx file', server: comparedFiles, target: `${path}.json`, headers: {} }]),
    ]
    const targets = { 'node:http': { of: 'ratio', atLeast: 0.9 } } as const
    rows.push(...(await contest(field, `${sizeKb} KB`, ours, peers, targets)).rows)
  }
  for (const sizeKb of context.quick ? ([2] as const) : ([2, 300] as const)) {
    const path = pathOf(sizeKb)
    const conditional = async (server: ServerProcess, target: string) => ({
      'If-None-Match': (await ask(server, target)).headers.etag ?? '',
    })
    const headers = await conditional(service, path)
    const ours = { name: 'service', server: service, target: path, headers }
    const peers: Aim[] = [{ name: 'node:http', server: raw, target: `/304${path}`, headers }]
    if (comparedFiles !== null) {
      const target = `${path}.json`
      const own = await conditional(comparedFiles, target)
      peers.push({ name: 'nginx file', server: comparedFiles, target, headers: own })
    }
    const targets = { 'node:http': { of: 'ratio', atLeast: 0.85 } } as const
    rows.push(...(await contest(field, `${sizeKb} KB, 304`, ours, peers, targets)).rows)
  }
  if (field.load.takesScripts) rows.push(...(await limitedRows(context, field)))
  if (files !== null) rows.push(...(await edgeRows(context, field, files)))
  return rows
}

/** What it costs to count every read, of 65,536 readers behind one proxy. */
async function limitedRows(context: SuiteContext, field: Field): Promise<Row[]> {
  const { publicDir, service, servers } = field
  const env = { LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' }
  const limited = await startService(join(context.dir, 'limited'), publicDir, env)
  servers.push(limited)
  const script = join(context.dir, 'readers.lua')
  writeFileSync(script, manyReaders)
  const aim = { target: pathOf(2), headers: {}, script }
  const ours = { ...aim, name: 'limits on', server: limited }
  const peer = { ...aim, name: 'limits off', server: service }
  return [...(await contest(field, '2 KB, limits on', ours, [peer], {})).rows]
}

const manyReaders = `local reader = 0
function request()
  reader = (reader + 1) % 65536
  wrk.headers["X-Forwarded-For"] = string.format("10.1.%d.%d", math.floor(reader / 256), reader % 256)
  return wrk.format()
end
`

/** nginx as it is shipped: what a reader behind it gets, and what is left for the service to do. */
async function edgeRows(context: SuiteContext, field: Field, files: ServerProcess): Promise<Row[]> {
  const dir = join(context.dir, 'edge')
  mkdirSync(dir)
  const { service, publicDir } = field
  const servicePort = Number(new URL(service.origin).port)
  const edge = await startShippedNginx(dir, { publicDir, servicePort, readyPath: pathOf(30) })
  field.servers.push(edge)
  const aloneDir = join(context.dir, 'cache')
  mkdirSync(aloneDir)
  const alone = await startCacheAlone(aloneDir, { servicePort, readyPath: pathOf(30) })
  field.servers.push(alone)
  const rows: Row[] = []
  for (const sizeKb of context.quick ? ([30] as const) : ([2, 30] as const)) {
    const path = pathOf(sizeKb)
    const name = 'nginx as shipped'
    const ours = { name, server: edge, target: path, headers: {}, behind: service }
    const peers = [
      { name: 'nginx file', server: files, target: `${path}.json`, headers: {} },
      { name: 'nginx cache alone', server: alone, target: path, headers: {} },
    ]
    const targets = { 'nginx file': { of: 'ratio', atLeast: 0.95 } } as const
    const what = `behind nginx, ${sizeKb} KB`
    const { rows: compared, samples } = await contest(field, what, ours, peers, targets)
    rows.push(...compared, ...idleRow(what, samples))
  }
  return rows
}

/** How much of a core the service takes while its documents are read from nginx; none where that is unknown. */
function idleRow(what: string, samples: readonly Sample[]): Row[] {
  const percents = samples.map(({ behindPercent }) => behindPercent).filter((one) => one !== null)
  if (percents.length < samples.length) return []
  const nginx = samples.map((sample) => percentOf(sample))
  return [
    compare({
      what: `${what}: the service meanwhile`,
      unit: '% of a core',
      ours: percents,
      peerName: 'nginx as shipped',
      peer: nginx,
      target: { of: 'ours', atMost: 1 },
    }),
  ]
}

function percentOf({ cpuUsPerRequest, requestsPerSecond }: Sample): number {
  return ((cpuUsPerRequest ?? Number.NaN) * requestsPerSecond) / 1e4
}
