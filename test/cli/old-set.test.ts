import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeEach, afterEach, expect, test } from 'vitest'

import { createClient } from '../../src/client/client.ts'
import { OldSetError } from '../../src/client/errors.ts'
import { MANIFEST_PATH, MANIFEST_SIGNATURE_FILE } from '../../src/core/documents.ts'
import { hourMs, minuteMs } from '../../src/core/time.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { handClock, publicDir } from '../support/http-service.ts'
import type { PublicDir } from '../support/http-service.ts'
import { serveDuringTest } from '../support/local-server.ts'
/** Old sets and documents under another path have valid signatures. */
import { documentsOf } from '../support/site.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

let published: PublicDir
/** A copy of the first set. */
let old: string
let current: string

beforeEach(async () => {
  published = await publicDir()
  current = join(published.dir, 'current')
  old = join(tempFolder(), 'old')
  await published.publish([...documentsOf(smallWorld())], worldNowMs)
  cpSync(`${current}/`, old, { recursive: true })
  await published.publish([...documentsOf(smallWorld())].slice(1), worldNowMs + hourMs)
})
afterEach(() => published.remove())

const command = (nowMs: number, ...args: string[]) =>
  runCommand(args, {}, { clock: handClock(nowMs) })
const verify = (nowMs: number, dir: string, ...options: string[]) =>
  command(nowMs, 'snapshot', 'verify', '--dir', dir, ...options)

test('snapshot verify --max-age refuses an old set with a valid signature', async () => {
  const tomorrow = worldNowMs + 25 * hourMs
  expect((await verify(tomorrow, current)).code).toBe(0)
  const late = await verify(tomorrow, current, '--max-age', '60')
  expect(late.code).toBe(1)
  expect(late.out).toContain('computed 1440 minutes ago')
  const soon = worldNowMs + hourMs + 59 * minuteMs
  expect((await verify(soon, current, '--max-age', '60')).code).toBe(0)
  expect((await verify(tomorrow, current, '--max-age', 'soon')).code).toBe(2)
})

test('snapshot verify refuses an expired set', async () => {
  const late = await verify(worldNowMs + 50 * hourMs, current)
  expect(late.code).toBe(1)
  expect(late.out).toContain('expires')
})

test('snapshot verify --seen and document verify --seen notice an older set', async () => {
  const nowMs = worldNowMs + 2 * hourMs
  const seen = ['--seen', join(tempFolder(), 'seen.json')]
  const document = (dir: string) =>
    command(nowMs, 'document', 'verify', join(dir, 'api/v1/rails.json'), ...seen)
  expect((await verify(nowMs, old, ...seen)).code).toBe(0)
  expect((await verify(nowMs, current, ...seen)).code).toBe(0)
  expect((await document(current)).code).toBe(0)
  const back = await verify(nowMs, old, ...seen)
  expect(back.code).toBe(1)
  expect(back.out).toContain('version 1 is older than version 2, which was seen before')
  expect((await document(old)).code).toBe(1)
  expect((await verify(nowMs, current, ...seen)).code).toBe(0)
})

test('document verify refuses a signed document under another path', async () => {
  const file = (path: string) => readFileSync(join(current, path))
  const [signature = '', kid = ''] = file(MANIFEST_SIGNATURE_FILE).toString('utf8').split(/\s/)
  const url = await serveDuringTest(({ url: path = '' }, response) => {
    const isManifest = path === MANIFEST_PATH
    if (isManifest) response.setHeader('X-Signature', signature).setHeader('X-Signature-Key', kid)
    const isDocument = path.startsWith('/api/v1/rails/')
    response.end(file(isDocument ? 'api/v1/rails/alpha.json' : path))
  })
  const document = (rail: string) =>
    runCommand(
      ['document', 'verify', `/api/v1/rails/${rail}`],
      { LEDGER_URL: url },
      { clock: handClock(worldNowMs + 2 * hourMs), fetch },
    )
  expect((await document('alpha')).code).toBe(0)
  expect((await document('beta')).code).toBe(1)
  const unknown = (await document('unknown')).out
  expect(unknown).toContain('is not in the manifest')
  expect(unknown).toContain('Answers to a query')
})

test('the client refuses a manifest that is older than one that it has seen', async () => {
  let served = current
  const url = await serveDuringTest((_, response) => {
    response.end(readFileSync(join(served, 'snapshot.json')))
  })
  const clock = handClock(worldNowMs + 2 * hourMs)
  const options = { baseUrl: url, serviceName: 'ledger', fetch, clock, random: systemRandom }
  const client = createClient(options)
  expect(await client.call('getSnapshotManifest')).toMatchObject({ version: 2 })
  served = old
  const answer = client.call('getSnapshotManifest')
  await expect(answer).rejects.toThrow(OldSetError)
  await expect(answer).rejects.toThrow('version 1 is older than version 2')
  expect(await createClient(options).call('getSnapshotManifest')).toMatchObject({ version: 1 })
})
