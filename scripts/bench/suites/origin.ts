/** Reads of documents: the service against bare node:http and against nginx. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { loadKeys } from '../../../builder/publish/keys.ts'
import { publish } from '../../../builder/publish/publish.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { silentLog } from '../build-settings.ts'
import { runWrk, wrkVersion } from '../load.ts'
import {
  nginxVersion,
  startNginxCache,
  startNginxFiles,
  startShippedNginx,
} from '../peers/nginx.ts'
import { cpuNs } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'
import { createRequester, startRawServer } from '../raw-server.ts'
import { interleave, rowsOf } from '../rows.ts'
import type { Sample, Samples } from '../rows.ts'
import { startService } from '../service.ts'
import type { Row, Suite, SuiteContext, Target } from '../suite.ts'

const connections = 64
const sizesKb = [2, 30, 300] as const
const ready = { readyPath: pathOf(30) }

interface Contestant {
  readonly name: string
  readonly server: ServerProcess
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** The server that answers what this one cannot. */
  readonly behind?: ServerProcess
  readonly script?: string
}

type Compare = (
  what: string,
  ours: Contestant,
  peers: readonly (Contestant & { readonly target?: Target })[],
) => Promise<Samples>

export const origin: Suite = {
  about: 'documents of 2, 30 and 300 KB, and 304, against bare node:http and nginx',
  run: async (context) => {
    const { dir, quick } = context
    const [load, nginx] = [wrkVersion(), nginxVersion()]
    const facts = { nginx: nginx ?? 'not installed' }
    if (load === null) {
      return { rows: [], skipped: [{ what: 'all rows', why: 'wrk is not installed' }], facts }
    }
    const servers: ServerProcess[] = []
    const running = async (server: Promise<ServerProcess>): Promise<ServerProcess> => {
      servers.push(await server)
      return await server
    }
    const rows: Row[] = []
    const compare = comparer(context, rows)
    try {
      const publicDir = await publishDocuments(dir)
      const PUBLIC_DIR = publicDir
      const service = await running(startService(dir, { env: { PUBLIC_DIR }, ...ready }))
      const raw = await running(startRaw(dir, service))
      const root = join(publicDir, 'current')
      const files =
        nginx === null
          ? null
          : await running(startNginxFiles(join(dir, 'files'), root, `${pathOf(2)}.json`))
      await documentRows(compare, service, raw, quick ? null : files, quick)

      const script = join(dir, 'readers.lua')
      writeFileSync(script, manyReaders)
      const env = { PUBLIC_DIR, LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' }
      const limited = await running(startService(join(dir, 'limited'), { env, ...ready }))
      const request = { path: pathOf(2), script }
      await compare('2 KB, limits on', { ...request, name: 'limits on', server: limited }, [
        { ...request, name: 'limits off', server: service },
      ])

      if (files !== null) {
        const edge = join(dir, 'edge')
        const shipped = await running(startShippedNginx(edge, service, publicDir, pathOf(30)))
        const cache = await running(startNginxCache(join(dir, 'cache'), service, pathOf(30)))
        for (const sizeKb of quick ? [30] : [2, 30]) {
          rows.push(...(await edgeRows(compare, sizeKb, { service, shipped, cache, files })))
        }
      }
    } finally {
      for (const server of servers) await server.stop()
    }
    return { rows, skipped: skippedRows(quick, nginx), facts: { load, connections, ...facts } }
  },
}

function skippedRows(quick: boolean, nginx: string | null) {
  return [
    ...(nginx === null ? [{ what: 'behind nginx', why: 'nginx is not installed' }] : []),
    ...(quick
      ? [
          { what: 'nginx file beside the service', why: '--quick: it has no target' },
          {
            what: '304 of 300 KB, and 2 KB behind nginx',
            why: '--quick: another size is measured',
          },
        ]
      : []),
  ]
}

/** A path that the shipped configuration of nginx knows as the path of a document. */
function pathOf(sizeKb: number): string {
  return `/api/v1/rails/bench-${sizeKb}k`
}

/** Publishes documents of the sizes, made of the texts of the skills. Returns the public folder. */
async function publishDocuments(dir: string): Promise<string> {
  const publicDir = join(dir, 'public')
  const skills = readFileSync(join(packageRoot, 'data/skills.json'), 'utf8')
  const text = skills.replaceAll(/[^\x20-\x7e]/g, ' ').replaceAll(/["\\]/g, "'")
  const documents = sizesKb.map((sizeKb) => {
    const length = sizeKb * 1024 - '{"text":""}'.length
    const filler = text.repeat(Math.ceil(length / text.length)).slice(0, length)
    return {
      path: pathOf(sizeKb),
      contentType: 'application/json',
      // Longer than any run, so that the service rests behind nginx.
      maxAgeSeconds: 86_400,
      body: { json: { text: filler }, stamp: null },
      archive: null,
    }
  })
  const nowMs = Date.now()
  const { signer, ring } = await loadKeys({ dir: join(dir, 'keys'), nowMs })
  await publish({ publicDir, documents, assetsDir: null, signer, ring, nowMs, log: silentLog })
  return publicDir
}

/** Bare node:http with the headers and bytes of the service; answers of 304 are at `/304/…`. */
async function startRaw(dir: string, { origin }: ServerProcess): Promise<ServerProcess> {
  const { request, close } = createRequester()
  const answers = new Map<string, Awaited<ReturnType<typeof request>>>()
  for (const path of sizesKb.map(pathOf)) {
    const answer = await request({ url: `${origin}${path}` })
    const headers = { 'If-None-Match': answer.headers.etag ?? '' }
    answers.set(path, answer)
    answers.set(`/304${path}`, await request({ url: `${origin}${path}`, headers }))
  }
  close()
  return await startRawServer(join(dir, 'raw.json'), answers)
}

/** Measures servers in turns and adds a row for each peer. Returns our samples. */
function comparer({ quick, log }: SuiteContext, rows: Row[]): Compare {
  const [rounds, warmMs, measureMs] = quick ? [3, 1000, 1000] : [7, 2000, 4000]
  const runLoad = async ({ server, path, headers = {}, script }: Contestant, durationMs: number) =>
    await runWrk({
      url: `${server.origin}${path}`,
      headers,
      connections,
      durationMs,
      ...(script === undefined ? {} : { script }),
    })
  const measure = async (contestant: Contestant): Promise<Sample> => {
    const { server, behind } = contestant
    if (!quick) await runLoad(contestant, warmMs)
    const cpuNow = () => [cpuNs(server.pids()), behind === undefined ? 0 : cpuNs(behind.pids())]
    const [before = 0, behindBefore = 0] = cpuNow()
    const startedMs = performance.now()
    const { perSecond, p99Ms } = await runLoad(contestant, measureMs)
    const elapsedMs = performance.now() - startedMs
    const [after = 0, behindAfter = 0] = cpuNow()
    return {
      perSecond,
      p99Ms,
      cpuUs: (after - before) / (perSecond * elapsedMs),
      cpuPercent: (after - before) / 1e4 / elapsedMs,
      behindPercent: (behindAfter - behindBefore) / 1e4 / elapsedMs,
    }
  }
  return async (what, ours, peers) => {
    log(`  ${what}`)
    const all = [ours, ...peers]
    if (quick) for (const contestant of all) await runLoad(contestant, warmMs)
    const measures = all.map((contestant) => [contestant.name, () => measure(contestant)] as const)
    const samples = await interleave<string>(rounds, Object.fromEntries(measures))
    const row = { what, unit: 'req/s', figure: 'perSecond' }
    const also = { 'cpu us/req': 'cpuUs', 'p99 ms': 'p99Ms' }
    for (const { name, target } of peers) {
      const aim = target === undefined ? {} : { target }
      const peer = { name, samples: samples(name) }
      rows.push(...rowsOf(samples(ours.name), peer, [{ ...row, ...aim, also }]))
    }
    return samples(ours.name)
  }
}

async function documentRows(
  compare: Compare,
  service: ServerProcess,
  raw: ServerProcess,
  files: ServerProcess | null,
  quick: boolean,
): Promise<void> {
  for (const sizeKb of sizesKb) {
    const path = pathOf(sizeKb)
    const target: Target = { of: 'ratio', atLeast: 0.9 }
    await compare(`${sizeKb} KB`, { name: 'service', server: service, path }, [
      { name: 'node:http', server: raw, path, target },
      ...(files === null ? [] : [{ name: 'nginx file', server: files, path: `${path}.json` }]),
    ])
  }
  const { request, close } = createRequester()
  const conditional = async (server: ServerProcess, path: string) => ({
    'If-None-Match': (await request({ url: `${server.origin}${path}` })).headers.etag ?? '',
  })
  for (const sizeKb of quick ? [2] : [2, 300]) {
    const path = pathOf(sizeKb)
    const headers = await conditional(service, path)
    const target: Target = { of: 'ratio', atLeast: 0.85 }
    const file = `${path}.json`
    await compare(`${sizeKb} KB, 304`, { name: 'service', server: service, path, headers }, [
      { name: 'node:http', server: raw, path: `/304${path}`, headers, target },
      ...(files === null
        ? []
        : [
            {
              name: 'nginx file',
              server: files,
              path: file,
              headers: await conditional(files, file),
            },
          ]),
    ])
  }
  close()
}

async function edgeRows(
  compare: Compare,
  sizeKb: number,
  servers: Readonly<Record<'service' | 'shipped' | 'cache' | 'files', ServerProcess>>,
): Promise<Row[]> {
  const path = pathOf(sizeKb)
  const name = 'nginx as shipped'
  const target: Target = { of: 'ratio', atLeast: 0.95 }
  const what = `behind nginx, ${sizeKb} KB`
  const ours = { name, server: servers.shipped, path, behind: servers.service }
  const samples = await compare(what, ours, [
    { name: 'nginx file', server: servers.files, path: `${path}.json`, target },
    { name: 'nginx cache alone', server: servers.cache, path },
  ])
  return rowsOf(samples, { name, samples, figure: 'cpuPercent' }, [
    {
      what: `${what}: the service meanwhile`,
      unit: '% of a core',
      figure: 'behindPercent',
      target: { of: 'ours', atMost: 1 },
    },
  ])
}

/** 65,536 readers behind one proxy, for wrk. */
const manyReaders = `local reader = 0
function request()
  reader = (reader + 1) % 65536
  wrk.headers["X-Forwarded-For"] = string.format("10.1.%d.%d", math.floor(reader / 256), reader % 256)
  return wrk.format()
end
`
