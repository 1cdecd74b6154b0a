import { createHash, createPublicKey, verify } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { routes } from '../../src/contract/routes.ts'
import { deskFeed } from '../../src/contract/schemas/desk.ts'
import { errorModel, signingKeys, snapshotManifest } from '../../src/contract/schemas/service.ts'
import { statsLive } from '../../src/contract/schemas/stats.ts'
import { openApiValidator } from '../support/openapi-validator.ts'
import { run } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { addressOf, stop, useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

/** The prefix of an ed25519 public key in SPKI form (RFC 8410). */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')

const program = useProgram()
let state: string
let service: Running
let base: string

function writeKey(dir: string, name: string): void {
  mkdirSync(join(dir, 'keys'), { recursive: true, mode: 0o700 })
  writeFileSync(join(dir, 'keys', name), 'no key', { mode: 0o600 })
}
const withoutBuilder = (dataDir: string) => ({
  PORT: '0',
  BUILDER: 'off',
  DATA_DIR: dataDir,
  PUBLIC_DIR: join(state, 'unpublished'),
})
const get = (path: string) => fetch(`${base}${path}`)
/** A build publishes its images last, and cron skips a minute that it notices late. */
const patience = { timeout: 150_000, interval: 200 }

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'ledger-start-'))
  service = run(program.service, [], {
    PORT: '0',
    POLL: 'off',
    LIMITS: 'off',
    DATA_DIR: join(state, 'data'),
    PUBLIC_DIR: join(state, 'public'),
  })
  base = await addressOf(service)
  await service.says('"message":"serving"')
})

afterAll(async () => {
  service.kill('SIGTERM')
  await service.ended
  rmSync(state, { recursive: true, force: true })
})

describe('a fresh start with nothing configured', () => {
  it('a fresh start with nothing configured is healthy and names its jobs', async () => {
    await expect
      .poll(async () => {
        const body: unknown = await (await get('/api/v1/health')).json()
        return body
      }, patience)
      .toMatchObject({
        status: 'ok',
        database: 'ok',
        problems: [],
        jobs: { build: { outcome: 'ok' } },
      })
  })

  it('a fresh start keeps its data from other users of the machine', () => {
    expect(statSync(join(state, 'data')).mode & 0o777).toBe(0o700)
  })

  it('a fresh start logs its address and what is turned off', () => {
    expect(service.output()).toContain('/api/v1/rails')
    expect(service.output()).toContain('POLL=off')
  })

  it('a fresh start answers every document as /openapi.json describes it, signed over the bytes received', async () => {
    const validator = openApiValidator(await (await get('/openapi.json')).json())
    const keys = signingKeys.parse(await (await get('/.well-known/signing-keys.json')).json())
    const setOf = async () => (await get('/snapshot.json')).headers.get('etag')
    const templates = new Set<string>()
    // If a build replaces the set during the loop, the loop starts again with the new set.
    for (let set: string | null = null; set !== (await setOf());) {
      set = await setOf()
      const manifest = snapshotManifest.parse(await (await get('/snapshot.json')).json())
      expect(manifest.documents.length).toBeGreaterThan(400)
      const named = [...manifest.documents, { path: '/snapshot.json', sha256: null, size: null }]
      for (const { path, sha256, size } of named) {
        const answer = await get(path)
        const bytes = Buffer.from(await answer.arrayBuffer())
        expect(answer.status, path).toBe(200)
        const key = keys.keys.find(({ kid }) => kid === answer.headers.get('x-signature-key'))
        const publicKey = createPublicKey({
          key: Buffer.concat([spkiPrefix, Buffer.from(key?.public_key ?? '', 'base64')]),
          format: 'der',
          type: 'spki',
        })
        const signature = Buffer.from(
          (answer.headers.get('x-signature') ?? '').replace('ed25519:', ''),
          'base64',
        )
        expect(verify(null, bytes, publicKey, signature), path).toBe(true)
        const found = {
          sha256: createHash('sha256').update(bytes).digest('hex'),
          size: bytes.length,
        }
        if (sha256 !== null && found.sha256 !== sha256 && set !== (await setOf())) break
        if (sha256 !== null) expect(found, path).toEqual({ sha256, size })
        const template = validator.templateOf(path)
        if (template === null) continue
        templates.add(template)
        const type = answer.headers.get('content-type') ?? ''
        const body: unknown =
          type === 'application/json' ? JSON.parse(bytes.toString('utf8')) : bytes.toString('utf8')
        expect(validator.problems(path, 200, type, body)).toEqual([])
      }
    }
    const needsEntries = new Set(['getDeskChart'])
    const documented = routes.filter(
      ({ serving, id }) => serving.kind === 'document' && !needsEntries.has(id),
    )
    expect([...templates].toSorted()).toEqual(documented.map(({ path }) => path).toSorted())
  })

  it('answers /stats/live with the changes since a time', async () => {
    const validator = openApiValidator(await (await get('/openapi.json')).json())
    const answer = await get('/api/v1/stats/live?since=2020-01-01T00:00:00Z')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=5')
    const body = statsLive.parse(await answer.json())
    expect(validator.problems('/api/v1/stats/live', 200, 'application/json', body)).toEqual([])
    expect(body.delta_since?.since).toBe('2020-01-01T00:00:00.000Z')
    expect(body.delta_since?.rail_snapshots.length).toBeGreaterThan(45)
  })

  it.each(['/api/v1/rails/nobody', '/api/v1/skills/nothing', '/api/v1/pacts/1', '/api/v1/nowhere'])(
    'answers %s with the error body',
    async (path) => {
      const answer = await get(path)
      expect(answer.status).toBe(404)
      expect(errorModel.safeParse(await answer.json()).success).toBe(true)
    },
  )

  it('counts views of an article and shows them in the feed', async () => {
    // A view counts once per network.
    for (const localAddress of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      const reading = request(`${base}/desk/five-statuses.md`, { localAddress }).end()
      reading.on('response', (answer) => answer.resume())
      await once(reading, 'close')
    }
    await expect
      .poll(async () => {
        const feed = deskFeed.parse(await (await get('/api/v1/desk/feed.json')).json())
        const article = feed.articles.find(({ slug }) => slug === 'five-statuses')
        return { isCounted: (article?.views_24h ?? 0) >= 3, hot: article?.hot }
      }, patience)
      .toEqual({ isCounted: true, hot: true })
  })

  it('the service exits with code 0 on SIGTERM', async () => {
    const other = run(program.service, [], {
      PORT: '0',
      POLL: 'off',
      DATA_DIR: join(state, 'other'),
      PUBLIC_DIR: join(state, 'other-public'),
    })
    await other.says('"message":"published"')
    await stop(other)
    expect(other.output()).toContain('"message":"stopped"')
  })

  it('exits with code 78 for an invalid setting and names it', async () => {
    const refused = run(program.service, [], {
      ...withoutBuilder(join(state, 'refused')),
      PORT: 'http',
    })
    expect(await refused.ended).toBe(78)
    expect(refused.output()).toContain('PORT')
  })

  it('exits with code 78 for a key file that other users can read', async () => {
    const dataDir = join(state, 'loose')
    mkdirSync(join(dataDir, 'keys'), { recursive: true, mode: 0o700 })
    writeFileSync(join(dataDir, 'keys/job-exchange.pem'), '', { mode: 0o644 })
    const refused = run(program.service, [], withoutBuilder(dataDir))
    expect(await refused.ended).toBe(78)
    expect(refused.output()).toContain('job-exchange.pem can be read by users other than its owner')
    expect(refused.output()).not.toContain('    at ')
  })

  it.each([
    [
      'a file as DATA_DIR',
      (dir: string) => writeFileSync(dir, ''),
      /^The start failed: EEXIST: .*'DIR'\. DATA_DIR/,
    ],
    [
      'a file above DATA_DIR',
      (dir: string) => writeFileSync(join(dir, '..'), ''),
      /^The start failed: ENOTDIR: .*'DIR'/,
    ],
    [
      'a folder as database',
      (dir: string) => mkdirSync(join(dir, 'ledger.db'), { recursive: true }),
      /^The database cannot be used: Cannot open DIR\/ledger.db: SQLITE_CANTOPEN/,
    ],
    [
      'a log.pem without a key',
      (dir: string) => writeKey(dir, 'log.pem'),
      /^A file cannot be used: DIR\/keys\/.* is missing: restore/,
    ],
    [
      'a job-exchange.pem without a key',
      (dir: string) => writeKey(dir, 'job-exchange.pem'),
      /^A file cannot be used: DIR\/keys\/job-exchange.pem is not an ed25519 key/,
    ],
  ])(
    '%s ends service and builder with code 78 and one line that names it',
    async (_, spoil, line) => {
      const dir = join(mkdtempSync(join(state, 'spoiled-')), 'parent', 'data')
      mkdirSync(join(dir, '../..'), { recursive: true })
      if (!/above/.test(_)) mkdirSync(join(dir, '..'))
      spoil(dir)
      for (const script of [program.service, program.builder]) {
        const refused = run(script, [], withoutBuilder(dir))
        expect(await refused.ended).toBe(78)
        const output = refused.output().trim()
        expect(output.replaceAll(dir, 'DIR')).toMatch(line)
        expect(output.split('\n')).toHaveLength(1)
      }
    },
  )

  it('a ledger whose keys are lost ends with code 78, is not ready, and creates none', async () => {
    const [dataDir, publicDir] = [join(state, 'lost'), join(state, 'lost-public')]
    const settings = { PORT: '0', POLL: 'off', DATA_DIR: dataDir, PUBLIC_DIR: publicDir }
    const first = run(program.service, [], settings)
    await first.says('"message":"published"')
    await stop(first)
    rmSync(join(dataDir, 'keys'), { recursive: true })
    for (const script of [program.service, program.builder]) {
      const refused = run(script, [], settings)
      expect(await refused.ended).toBe(78)
      expect(refused.output()).toMatch(/^A file cannot be used: .*is missing: restore.*$/m)
    }
    expect(existsSync(join(dataDir, 'keys'))).toBe(false)
    rmSync(dataDir, { recursive: true })
    for (const script of [program.service, program.builder]) {
      const refused = run(script, [], settings)
      expect(await refused.ended).toBe(78)
      expect(refused.output()).toContain('lost-public/log/checkpoint belongs to a ledger')
    }
    expect(existsSync(join(dataDir, 'keys'))).toBe(false)
  })

  it('a service whose database does not know the log of its keys is not ready', async () => {
    const dataDir = join(state, 'unknown')
    for (const folder of ['keys', 'secrets']) {
      cpSync(join(state, 'data', folder), join(dataDir, folder), { recursive: true })
    }
    const other = run(program.service, [], withoutBuilder(dataDir))
    const ready = await fetch(`${await addressOf(other)}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.text()).toContain('the database lacks the log')
    await stop(other)
  })

  it.each(['HOST', 'METRICS_HOST'])(
    'exits with code 1 and one line for a %s that this machine does not have',
    async (name) => {
      const refused = run(program.service, [], {
        ...withoutBuilder(join(state, 'addresses')),
        METRICS_PORT: '0',
        [name]: '203.0.113.9',
      })
      expect(await refused.ended).toBe(1)
      expect(refused.output()).toMatch(/^The start failed: listen EADDRNOTAVAIL.* HOST, PORT.*$/m)
      expect(refused.output()).not.toContain('    at ')
    },
  )

  it('exits with code 78 for signing keys that it cannot use, and names the file', async () => {
    const dataDir = join(state, 'damaged')
    const keys = join(dataDir, 'keys')
    mkdirSync(keys, { recursive: true, mode: 0o700 })
    writeFileSync(join(keys, 'signing-keys.json'), '{}', { mode: 0o600 })
    const refused = run(program.service, [], withoutBuilder(dataDir))
    expect(await refused.ended).toBe(78)
    expect(refused.output()).toContain('signing-keys.json cannot be used')
  })
})
