import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { beforeEach, expect, test } from 'vitest'

import { loadReference, referencePaths } from '../src/actions/reference.ts'
import { createLog } from '../src/core/log.ts'
import { createHealth } from '../src/runtime/health.ts'
import { loadReloaded } from '../src/runtime/reloaded.ts'
import { tempDatabase, tempFolder } from './db/temp-database.ts'
import { handClock } from './support/http-service.ts'
import { issued, listedPlatform, receiptFacts, submission } from './support/receipts.ts'
import { requestJson } from './support/requests.ts'
import { useServices } from './support/use-service.ts'
import { ed25519Key, evmWallet } from './support/wallets.ts'

const wallet = evmWallet('worker')
const key = ed25519Key('platform')
const platform = listedPlatform(key)

const services = useServices()
let folder: string
let data: string
let lines: string

beforeEach(async () => {
  folder = tempFolder()
  data = join(folder, 'data')
  lines = ''
  await cp('data', data, { recursive: true })
})

function openReloaded<Value>(name: string, paths: readonly string[], load: () => Promise<Value>) {
  const clock = handClock()
  const write = (text: string) => void (lines += text)
  const log = createLog({ level: 'info', now: clock.now, write, defer: (flush) => flush() })
  return loadReloaded({ name, paths, load }, { clock, log })
}

const openReference = () =>
  openReloaded('the registries under data/', referencePaths(data), () => loadReference(data))

const writePlatforms = (platforms: unknown) =>
  writeFile(join(data, 'platforms.json'), JSON.stringify({ platforms }))

test('a platform added while the service runs may issue receipts, and a revoked one may not', async () => {
  const reference = await openReference()
  const service = await services.start({ actions: { reference: reference.current } })
  const send = async (amount: string) => {
    service.clock.advance(1000)
    const receipt = issued(receiptFacts(wallet, { amount_usdc: amount }), key)
    const body = await submission(wallet, receipt, service.clock.now())
    return (await requestJson(service, '/api/v1/receipts', { body })).status
  }
  expect(await send('1')).toBe(422)
  await writePlatforms([platform])
  await reference.reload()
  expect(await send('2')).toBe(201)
  await writePlatforms([{ ...platform, revoked_at: '2026-11-02T00:00:00.000Z' }])
  await reference.reload()
  expect(await send('3')).toBe(401)
})

test('an invalid file changes nothing and is reported in the health of the service until it is fixed', async () => {
  await writePlatforms([platform])
  const reference = await openReference()
  const before = reference.current()
  const clock = handClock()
  const database = await tempDatabase()
  const health = createHealth({
    database,
    canWrite: () => Promise.resolve(true),
    store: { state: () => ({ manifest: null, problem: null, damaged: new Map() }) },
    clock,
    startedMonotonicMs: 0,
    jobs: [],
    settlement: 'off',
    problems: () => [reference.problem()].filter((problem) => problem !== null),
  })
  const whole = await readFile(join(data, 'oaths.json'), 'utf8')
  expect((await health()).body).toMatchObject({ status: 'ok', problems: [] })
  await writeFile(join(data, 'oaths.json'), whole.slice(0, 100))
  await reference.reload()
  expect(reference.current()).toBe(before)
  const { statusCode, body } = await health()
  expect(statusCode).toBe(200)
  expect(body).toMatchObject({
    status: 'degraded',
    problems: [expect.stringContaining('cannot be used; the previous version remains in use')],
  })
  expect(JSON.stringify(body)).not.toContain(folder)
  expect(lines).toContain('could not be reloaded')
  await writeFile(join(data, 'oaths.json'), whole)
  await reference.reload()
  expect((await health()).body).toMatchObject({ status: 'ok', problems: [] })
  expect(reference.current()).not.toBe(before)
})

test('unchanged files are not read again', async () => {
  const reference = await openReference()
  const before = reference.current()
  await reference.reload()
  expect(reference.current()).toBe(before)
})

test('a read that failed for a temporary reason is repeated and logged once', async () => {
  let fault: Error | null = null
  let reads = 0
  const load = () => {
    reads += 1
    return fault === null ? Promise.resolve(reads) : Promise.reject(fault)
  }
  const path = join(data, 'platforms.json')
  const read = await openReloaded('the file', [path], load)
  fault = new Error('too many open files')
  await writePlatforms([])
  await read.reload()
  await read.reload()
  expect(read.current()).toBe(1)
  expect(read.problem()).toContain('too many open files')
  expect(lines.match(/could not be reloaded/g)).toHaveLength(1)
  fault = null
  await read.reload()
  expect(read.current()).toBe(4)
  expect(read.problem()).toBeNull()
  await read.reload()
  expect(read.current()).toBe(4)
})
