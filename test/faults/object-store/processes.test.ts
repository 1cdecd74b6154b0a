/** The compiled program with a bucket: services, builders that are killed, and an unavailable store. */
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, onTestFinished, test } from 'vitest'

import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { saveEvidence } from '../../../src/db/evidence.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { latestPublications } from '../../../src/db/publications.ts'
import { installBoardProgram, writeVersion } from '../../e2e/board.ts'
import { healthOf, newLedger, stop, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { startFaultyProxy } from '../../support/s3/faulty-proxy.ts'
import type { ProxiedRequest } from '../../support/s3/faulty-proxy.ts'
import { credentials, noGateway, openBucket, useGateway } from '../../support/s3/gateway.ts'
import { readBucket } from '../../support/s3/read-bucket.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts the compiled program')

const leftOut = noGateway === null ? '' : ` (left out: ${noGateway})`

describe.skipIf(noGateway !== null)(`the program with an object store${leftOut}`, () => {
  const program = useProgram(installBoardProgram)
  const gateway = useGateway()

  async function place() {
    const address = await gateway.newBucket()
    const proxy = await startFaultyProxy(gateway.endpoint)
    const settings = {
      POLL: 'off',
      PUBLISH_URL: `s3://${address.bucket}/ledger?endpoint=${proxy.endpoint}&region=us-east-1`,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    }
    return { proxy, settings, objects: openBucket(address) }
  }

  function machine(settings: Readonly<Record<string, string>>): Ledger {
    const ledger = newLedger(program, settings)
    onTestFinished(ledger.remove)
    return ledger
  }

  const keysOf = ({ dataDir }: Ledger) =>
    loadKeys({ dir: join(dataDir, 'keys'), nowMs: Date.now() })
  const endOf = async (running: ReturnType<Ledger['builder']>) => {
    const code = await running.ended
    expect(code, running.output()).toBe(0)
  }

  test('a builder publishes pages, assets, images and evidence to a bucket, and a service alone serves them', async () => {
    const { settings, objects } = await place()
    const ledger = machine(settings)
    await endOf(ledger.builder(['--once']))
    const body = '{"rail":"x402"}'
    const sha256 = sha256Hex(body)
    await ledger.withDatabase(({ write }) =>
      write((tx) => saveEvidence(tx, [{ sha256, body, keptUntil: null }])),
    )
    await endOf(ledger.builder(['--once']))
    const { publicKeys } = await keysOf(ledger)
    const { bodies } = await readBucket(objects, publicKeys)
    expect(existsSync(ledger.publicDir)).toBe(false)
    for (const path of [
      '/',
      '/docs/verifying',
      '/assets/site.css',
      '/favicon.svg',
      '/share/home.png',
    ])
      expect([...bodies.keys()]).toContain(path)
    const evidence = await objects.get(`evidence/${sha256}.json`)
    expect(evidence?.bytes.toString()).toBe(body)

    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect((await healthOf(url)).problems).toEqual([])
    for (const [path, expected] of bodies) {
      const answer = await fetch(url + path)
      expect([path, answer.status]).toEqual([path, 200])
      expect(Buffer.from(await answer.arrayBuffer()).equals(expected)).toBe(true)
    }
    await stop(service)
  })

  test('a service starts without its store, says why it serves nothing, and recovers', async () => {
    const { proxy, settings } = await place()
    const ledger = machine(settings)
    await endOf(ledger.builder(['--once']))
    proxy.fail(() => 'refused')
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect(await healthOf(url)).toMatchObject({
      code: 200,
      status: 'degraded',
      problems: ['the object store answered 500 InternalError'],
    })
    expect((await fetch(`${url}/api/v1/rails`)).status).toBe(503)
    proxy.fail(() => undefined)
    // The service tries again every 30 seconds, and then loads the whole set.
    const patience = { timeout: 240_000 }
    await expect.poll(async () => (await healthOf(url)).problems, patience).toEqual([])
    expect((await fetch(`${url}/api/v1/rails`)).status).toBe(200)
    await stop(service)
  })

  const moments: readonly [string, (request: ProxiedRequest) => boolean][] = [
    ['uploads a body', ({ method, key }) => method === 'PUT' && key.startsWith('o/')],
    [
      'uploads the manifest',
      ({ method, key }) => method === 'PUT' && key.endsWith('/snapshot.json'),
    ],
    ['moves the pointer', ({ method, key }) => method === 'PUT' && key === 'current.json'],
  ]

  test.each(moments)(
    'a builder that is killed while it %s is replaced by one on a new machine',
    async (_, matches) => {
      const { proxy, settings, objects } = await place()
      const first = machine(settings)
      const shared = { DATABASE_URL: `sqlite:${join(first.dataDir, 'ledger.db')}` }
      writeVersion(program, 1)
      await endOf(first.builder(['--once']))
      const { publicKeys } = await keysOf(first)
      const before = await readBucket(objects, publicKeys)

      writeVersion(program, 2)
      const killed = first.builder(['--once'])
      proxy.fail((request) => {
        if (!matches(request)) return undefined
        killed.kill('SIGKILL')
        return 'silent'
      })
      await killed.ended
      proxy.fail(() => undefined)
      expect((await readBucket(objects, publicKeys)).manifest).toEqual(before.manifest)

      const second = machine({ ...settings, ...shared })
      for (const folder of ['keys', 'secrets']) {
        cpSync(join(first.dataDir, folder), join(second.dataDir, folder), { recursive: true })
      }
      await endOf(second.builder(['--once']))
      const after = await readBucket(objects, publicKeys)
      expect(String(after.bodies.get('/api/v1/rails/olas'))).toContain('version 2')
      const database = await openDatabase({ url: shared.DATABASE_URL.slice('sqlite:'.length) })
      const [newest, older] = await latestPublications(database.reader, 2)
      await database.close()
      expect(after.manifest.version).toBe(newest?.version)
      expect(after.manifest.version).toBeGreaterThan(before.manifest.version)
      expect(after.manifest.previous).toBe(older?.manifestSha256)
      // A builder without the facts of its predecessor would list everything as new.
      expect(String(after.bodies.get('/diffs/latest.md'))).not.toContain('no earlier build')
      const images = ({ bodies }: typeof after) =>
        [...bodies.keys()].filter((path) => path.startsWith('/share/'))
      expect(images(after)).toEqual(images(before))
    },
  )
})
