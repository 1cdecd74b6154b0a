/** `npm run smoke [-- <directory>]`: runs `npm start` there, checks every document and that no secret is printed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get as request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { sha256Hex } from '../src/auth/messages.ts'
import { parseSigningKeys, verifyDocument } from '../src/client/verify.ts'
import { MANIFEST_PATH, manifestSchema } from '../src/core/documents.ts'
import { expectNoSecrets, neverLogSecretsOf } from '../test/support/no-secrets.ts'

const START_TIMEOUT_MS = 120_000
/** Characters of output that are shown after a failure. */
const SHOWN_LENGTH = 8000
const origin = 'http://127.0.0.1:8787'
const [directory = '.'] = process.argv.slice(2)

const passedOn = ['PATH', 'HOME', 'TMPDIR', 'NO_COLOR']
const env = Object.fromEntries(passedOn.map((name) => [name, process.env[name]]))
if (await isUp()) throw new Error(`another server answers at ${origin}`)
const startedMs = performance.now()
// Runs in a separate process group, so that all its processes can be killed together.
const child = spawn('npm', ['start'], {
  cwd: directory,
  env,
  detached: true,
  stdio: ['ignore', 'pipe', 'pipe'],
})
let output = ''
for (const stream of [child.stdout, child.stderr]) {
  stream.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
}
const ended = once(child, 'close')
try {
  await check()
} catch (error) {
  process.stderr.write(output.slice(-SHOWN_LENGTH))
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  throw error
}

async function check(): Promise<void> {
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
    if (performance.now() - startedMs > START_TIMEOUT_MS) throw new Error('it did not become ready')
    await sleep(50)
  }
  const readyMs = performance.now() - startedMs
  const health = await get('/api/v1/health')
  if (health.status !== 200) throw new Error(`health is ${health.status}: ${String(health.body)}`)
  const count = await checkEveryDocument()
  console.log(`${count} documents good, ready after ${(readyMs / 1000).toFixed(1)} s`)

  child.kill('SIGTERM')
  const [code, signal] = z.tuple([z.number().nullable(), z.string().nullable()]).parse(await ended)
  if (code !== 0) throw new Error(`stopped with code ${code} and signal ${signal}`)
  if (await isUp()) throw new Error('it still answers after it was stopped')
  neverLogSecretsOf({ DATA_DIR: join(directory, 'data/run') })
  expectNoSecrets(output)
  console.log('stopped with code 0')
}

async function isUp(): Promise<boolean> {
  try {
    return (await get('/healthz')).status === 200
  } catch {
    return false
  }
}

/** Returns true if the first set is published. These requests do not count towards the limits of the API. */
async function isReady(): Promise<boolean> {
  return (await isUp()) && (await get(MANIFEST_PATH)).status === 200
}

/** Each must answer 200 with the bytes of its ETag, signed by a listed key. */
async function checkEveryDocument(): Promise<number> {
  const manifest = manifestSchema.parse(JSON.parse((await get(MANIFEST_PATH)).body.toString()))
  const keys = parseSigningKeys((await get('/.well-known/signing-keys.json')).body)
  if (keys === null) throw new Error('the signing keys are malformed')
  for (const [at, { path }] of manifest.documents.entries()) {
    // Uses another client address for each hundred requests, to stay below the limits.
    const { status, headers, body } = await get(path, `127.0.0.${2 + Math.floor(at / 100)}`)
    if (status !== 200) throw new Error(`${path} answers ${status}`)
    // The hash is not compared with the manifest, since polls may have published another set.
    if (headers.etag !== `"${sha256Hex(body)}"`) throw new Error(`${path} does not match its ETag`)
    const signed = {
      signature: String(headers['x-signature']),
      kid: String(headers['x-signature-key']),
    }
    const { good, what, detail } = await verifyDocument(body, signed, keys)
    if (!good) throw new Error(`${path}: ${what} ${detail}`)
  }
  return manifest.documents.length
}

async function get(
  path: string,
  localAddress = '127.0.0.1',
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${origin}${path}`, { localAddress }, resolve).on('error', reject)
  })
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: await buffer(response) }
}
