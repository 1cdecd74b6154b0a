/** Documents of the sizes, and the servers that answer them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

import { loadKeys } from '../../../builder/publish/keys.ts'
import { publish } from '../../../builder/publish/publish.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { startFileServer } from '../peers/nginx.ts'
import { freePort, scriptPath, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'

export const sizesKb = [2, 30, 300] as const

/** A path that nginx as shipped knows as that of a document. */
export function pathOf(sizeKb: number): string {
  return `/api/v1/rails/bench-${sizeKb}k`
}

/** Documents of the sizes, made of the texts of the authored rails. */
export async function publishDocuments(dir: string): Promise<string> {
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

/** The service as it is started anywhere, without a line per request, and without limits unless told. */
export async function startService(
  dir: string,
  publicDir: string,
  limits: Readonly<Record<string, string>> = { LIMITS: 'off' },
): Promise<ServerProcess> {
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
      LOG_LEVEL: 'warn',
      ...limits,
    },
    port,
    readyPath: pathOf(30),
  })
}

/** Gives node:http the very headers and bytes that the service answers. */
export async function startRaw(dir: string, service: ServerProcess): Promise<ServerProcess> {
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

export async function startFiles(dir: string, publicDir: string): Promise<ServerProcess> {
  const home = join(dir, 'files')
  mkdirSync(home)
  return startFileServer(home, join(publicDir, 'current'), `${pathOf(2)}.json`)
}

export async function ask(
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
