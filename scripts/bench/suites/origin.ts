/** Reads of documents: the service against bare node:http and against nginx. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

import { loadKeys } from '../../../builder/publish/keys.ts'
import { publish } from '../../../builder/publish/publish.ts'
import { packageRoot } from '../../../src/runtime.ts'
import { cpuNs, loadGenerator } from '../load.ts'
import type { LoadGenerator } from '../load.ts'
import { nginxVersion, startFileServer, startShippedNginx } from '../peers/nginx.ts'
import { freePort, scriptPath, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'
import { alongside, compare, interleave } from '../rounds.ts'
import type { Row, Suite, SuiteContext, Target } from '../suite.ts'

const CONNECTIONS = 64
const sizesKb = [2, 30, 300] as const

interface Timing {
  readonly rounds: number
  readonly warmMs: number
  readonly measureMs: number
}

interface Sample {
  readonly requestsPerSecond: number
  readonly p99Ms: number
  readonly cpuUsPerRequest: number | null
}

/** What one server is asked for in one comparison. */
interface Aim {
  readonly name: string
  readonly server: ServerProcess
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
}

export const origin: Suite = {
  about: 'documents of 2, 30 and 300 KB, and 304, against bare node:http and nginx',
  run: async (context) => {
    const timing: Timing = context.quick
      ? { rounds: 3, warmMs: 1000, measureMs: 1000 }
      : { rounds: 7, warmMs: 2000, measureMs: 4000 }
    const load = loadGenerator()
    const nginx = nginxVersion()
    const publicDir = await publishDocuments(context.dir)
    const service = await startService(context.dir, publicDir)
    const servers: ServerProcess[] = [service]
    try {
      const raw = await startRaw(context.dir, service)
      servers.push(raw)
      const { rows, serviceMs } = await originRows(context, {
        load,
        timing,
        service,
        raw,
        servers,
        publicDir,
      })
      return {
        rows,
        skipped: nginx === null ? [{ what: 'nginx as a peer', why: 'it is not installed' }] : [],
        facts: {
          load: load.name,
          connections: CONNECTIONS,
          nginx: nginx ?? 'not installed',
          node: process.version,
          ...(serviceMs === null
            ? {}
            : { service_ms_while_read_behind_nginx: Math.round(serviceMs) }),
        },
      }
    } finally {
      for (const server of servers) await server.stop()
    }
  },
}

interface Field {
  readonly load: LoadGenerator
  readonly timing: Timing
  readonly service: ServerProcess
  readonly raw: ServerProcess
  /** Whatever is started is added here, so that it is stopped. */
  readonly servers: ServerProcess[]
  readonly publicDir: string
}

async function originRows(context: SuiteContext, field: Field): Promise<Measured> {
  const { service, raw, servers, publicDir } = field
  const files = nginxVersion() === null ? null : await startFiles(context.dir, publicDir)
  if (files !== null) servers.push(files)
  const rows: Row[] = []
  for (const sizeKb of sizesKb) {
    const path = pathOf(sizeKb)
    const ours = { name: 'service', server: service, target: path, headers: {} }
    const peers = [
      { name: 'node:http', server: raw, target: path, headers: {} },
      ...(files === null
        ? []
        : [{ name: 'nginx file', server: files, target: `${path}.json`, headers: {} }]),
    ]
    const targets = { 'node:http': { of: 'ratio', atLeast: 0.9 } } as const
    rows.push(...(await contest(context, field, `${sizeKb} KB`, ours, peers, targets)))
  }
  for (const sizeKb of context.quick ? ([2] as const) : ([2, 300] as const)) {
    const path = pathOf(sizeKb)
    const conditional = async (server: ServerProcess, target: string) => ({
      'If-None-Match': (await ask(server, target)).headers.etag ?? '',
    })
    const headers = await conditional(service, path)
    const ours = { name: 'service', server: service, target: path, headers }
    const peers: Aim[] = [{ name: 'node:http', server: raw, target: `/304${path}`, headers }]
    if (files !== null) {
      const target = `${path}.json`
      const own = await conditional(files, target)
      peers.push({ name: 'nginx file', server: files, target, headers: own })
    }
    const targets = { 'node:http': { of: 'ratio', atLeast: 0.85 } } as const
    rows.push(...(await contest(context, field, `${sizeKb} KB, 304`, ours, peers, targets)))
  }
  if (files === null) return { rows, serviceMs: null }
  const edge = await edgeRows(context, field, files)
  return { ...edge, rows: [...rows, ...edge.rows] }
}

interface Measured {
  readonly rows: Row[]
  /** How long the service ran while its documents were read behind nginx; null where that is unknown. */
  readonly serviceMs: number | null
}

/** nginx as it is shipped: what a reader behind it gets. */
async function edgeRows(
  context: SuiteContext,
  field: Field,
  files: ServerProcess,
): Promise<Measured> {
  const dir = join(context.dir, 'edge')
  mkdirSync(dir)
  const servicePort = Number(new URL(field.service.origin).port)
  const readyPath = pathOf(30)
  const edge = await startShippedNginx(dir, { publicDir: field.publicDir, servicePort, readyPath })
  field.servers.push(edge)
  const rows: Row[] = []
  const before = cpuNs(field.service.pids())
  for (const sizeKb of context.quick ? ([30] as const) : ([2, 30] as const)) {
    const path = pathOf(sizeKb)
    const ours = { name: 'nginx as shipped', server: edge, target: path, headers: {} }
    const peer = { name: 'nginx file', server: files, target: `${path}.json`, headers: {} }
    const targets = { 'nginx file': { of: 'ratio', atLeast: 0.95 } } as const
    const what = `behind nginx, ${sizeKb} KB`
    rows.push(...(await contest(context, field, what, ours, [peer], targets)))
  }
  const after = cpuNs(field.service.pids())
  return { rows, serviceMs: before === null || after === null ? null : (after - before) / 1e6 }
}

async function contest(
  context: SuiteContext,
  field: Field,
  what: string,
  ours: Aim,
  peers: readonly Aim[],
  targets: Readonly<Record<string, Target>>,
): Promise<Row[]> {
  context.say(`  ${what}`)
  const { load, timing } = field
  const contestants = [ours, ...peers].map((aim) => ({
    name: aim.name,
    measure: async () => measure(load, timing, aim),
  }))
  const samples = await interleave(contestants, timing.rounds)
  const of = (name: string): readonly Sample[] => samples.get(name) ?? []
  return peers.map((peer) => {
    const target = targets[peer.name]
    const also = (name: string, figure: (sample: Sample) => number | null) =>
      alongside(name, of(ours.name).map(figure), of(peer.name).map(figure))
    return compare({
      what,
      unit: 'req/s',
      ours: of(ours.name).map(({ requestsPerSecond }) => requestsPerSecond),
      peerName: peer.name,
      peer: of(peer.name).map(({ requestsPerSecond }) => requestsPerSecond),
      ...(target === undefined ? {} : { target }),
      also: {
        ...also('cpu us/req', ({ cpuUsPerRequest }) => cpuUsPerRequest),
        ...also('p99 ms', ({ p99Ms }) => p99Ms),
      },
    })
  })
}

/** Warms up for a while, since a server that stood idle first finds its feet again; then measures. */
async function measure(load: LoadGenerator, timing: Timing, aim: Aim): Promise<Sample> {
  const { server, target, headers } = aim
  const request = { url: `${server.origin}${target}`, headers, connections: CONNECTIONS }
  await load.run({ ...request, durationMs: timing.warmMs })
  const before = cpuNs(server.pids())
  const startedMs = performance.now()
  const { requestsPerSecond, p99Ms } = await load.run({ ...request, durationMs: timing.measureMs })
  const seconds = (performance.now() - startedMs) / 1000
  const after = cpuNs(server.pids())
  const requests = requestsPerSecond * seconds
  const cpuUsPerRequest =
    before === null || after === null ? null : (after - before) / 1000 / requests
  return { requestsPerSecond, p99Ms, cpuUsPerRequest }
}

/** A path that nginx as shipped knows as that of a document. */
function pathOf(sizeKb: number): string {
  return `/api/v1/rails/bench-${sizeKb}k`
}

/** Documents of the sizes, made of the texts of the authored rails. */
async function publishDocuments(dir: string): Promise<string> {
  const publicDir = join(dir, 'public')
  const rails = readFileSync(join(packageRoot, 'data/skills.json'), 'utf8')
  const text = rails.replaceAll(/[^\x20-\x7e]/g, ' ')
  const documents = sizesKb.map((sizeKb) => {
    const length = sizeKb * 1024 - '{"text":""}'.length
    const filler = text.repeat(Math.ceil(length / text.length)).replaceAll(/["\\]/g, "'")
    return {
      path: pathOf(sizeKb),
      contentType: 'application/json',
      // Longer than any run, so that behind nginx the service rests.
      maxAgeSeconds: 86_400,
      body: { json: { text: filler.slice(0, length) }, stamp: null },
      archive: null,
    }
  })
  const nowMs = Date.now()
  const { signer, ring } = await loadKeys({ dir: join(dir, 'keys'), nowMs })
  const quiet = () => undefined
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  await publish({ publicDir, documents, assetsDir: null, signer, ring, nowMs, log })
  return publicDir
}

/** The service as it is started anywhere, without limits and without a line per request. */
async function startService(dir: string, publicDir: string): Promise<ServerProcess> {
  const port = await freePort()
  return startServer({
    program: process.execPath,
    args: [join(packageRoot, 'dist/src/main.js')],
    env: {
      PORT: String(port),
      HOST: '127.0.0.1',
      PUBLIC_DIR: publicDir,
      DATA_DIR: join(dir, 'run'),
      BUILDER: 'off',
      LIMITS: 'off',
      LOG_LEVEL: 'warn',
    },
    port,
    readyPath: pathOf(30),
  })
}

/** Gives node:http the very headers and bytes that the service answers. */
async function startRaw(dir: string, service: ServerProcess): Promise<ServerProcess> {
  const answers: object[] = []
  for (const sizeKb of sizesKb) {
    const target = pathOf(sizeKb)
    const bodyFile = join(dir, `${sizeKb}k.body`)
    const { headers, rawHeaders, body } = await ask(service, target)
    writeFileSync(bodyFile, body)
    answers.push({ target, status: 200, headers: ownHeaders(rawHeaders), bodyFile })
    const conditional = { 'If-None-Match': headers.etag ?? '' }
    const notModified = await ask(service, target, conditional)
    answers.push({
      target: `/304${target}`,
      status: 304,
      headers: ownHeaders(notModified.rawHeaders),
      bodyFile: null,
    })
  }
  const file = join(dir, 'raw.json')
  writeFileSync(file, JSON.stringify(answers))
  const port = await freePort()
  const script = scriptPath(new URL('../peers/raw-http.js', import.meta.url))
  const args = [script, String(port), file]
  return startServer({ program: process.execPath, args, port, readyPath: pathOf(2) })
}

/** Without those that Node adds by itself. */
function ownHeaders(rawHeaders: readonly string[]): string[] {
  const added = new Set(['date', 'connection', 'keep-alive'])
  return rawHeaders.filter((_, at) => !added.has((rawHeaders[at - (at % 2)] ?? '').toLowerCase()))
}

async function startFiles(dir: string, publicDir: string): Promise<ServerProcess> {
  const home = join(dir, 'files')
  mkdirSync(home)
  return startFileServer(home, join(publicDir, 'current'), `${pathOf(2)}.json`)
}

async function ask(
  server: ServerProcess,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{
  headers: IncomingMessage['headers']
  rawHeaders: readonly string[]
  body: Buffer
}> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${server.origin}${target}`, { headers }, resolve).on('error', reject)
  })
  return {
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body: await buffer(response),
  }
}
