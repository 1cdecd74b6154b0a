/** `npm run smoke [-- <directory>]`: runs `npm start` there, checks every document and that no secret is printed. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { z } from 'zod'

import { MANIFEST_PATH } from '../src/core/documents.ts'
import { expectNoSecrets, neverLogSecretsOf } from '../test/support/no-secrets.ts'

const START_TIMEOUT_MS = 120_000
/** Characters of output that are shown after a failure. */
const SHOWN_LENGTH = 8000
const origin = 'http://127.0.0.1:8787'
const [directory = '.'] = process.argv.slice(2)

const passedOn = ['PATH', 'HOME', 'TMPDIR', 'NO_COLOR']
const ofThisProcess = Object.fromEntries(passedOn.map((name) => [name, process.env[name]]))
// One client reads every document.
const env = { ...ofThisProcess, LIMITS: 'off' }
if (await isAnswered('/healthz')) throw new Error(`another server answers at ${origin}`)
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
  while (!(await isAnswered(MANIFEST_PATH))) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
    if (performance.now() - startedMs > START_TIMEOUT_MS) throw new Error('it did not become ready')
    await sleep(50)
  }
  const readyMs = performance.now() - startedMs
  const health = await fetch(`${origin}/api/v1/health`)
  if (!health.ok) throw new Error(`health is ${health.status}: ${await health.text()}`)
  const verify = ['dist/scripts/cli/main.js', 'snapshot', 'verify', '--ledger', origin]
  const verified = await promisify(execFile)('node', verify, { cwd: directory, env })
  console.log(`${verified.stdout}ready after ${(readyMs / 1000).toFixed(1)} s`)

  child.kill('SIGTERM')
  const [code, signal] = z.tuple([z.number().nullable(), z.string().nullable()]).parse(await ended)
  if (code !== 0) throw new Error(`stopped with code ${code} and signal ${signal}`)
  if (await isAnswered('/healthz')) throw new Error('it still answers after it was stopped')
  neverLogSecretsOf({ DATA_DIR: join(directory, 'data/run') })
  expectNoSecrets(output)
  console.log('stopped with code 0')
}

/** These requests do not count towards the limits of the API. */
async function isAnswered(path: string): Promise<boolean> {
  return await fetch(`${origin}${path}`, { method: 'HEAD' }).then(
    ({ status }) => status === 200,
    () => false,
  )
}
