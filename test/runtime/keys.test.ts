import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { parseConfig } from '../../src/config.ts'
import { findCheckpoint } from '../../src/db/log.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { openLedgerKeys } from '../../src/runtime/keys.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { tempDatabase, tempFolder } from '../db/temp-database.ts'
import { newDatabaseIn } from '../support/new-database.ts'

const files = [
  'keys/log.pem',
  'keys/signing-keys.json',
  'keys/job-exchange.pem',
  'secrets/hash.key',
]
const made = (dir: string) => files.filter((file) => existsSync(join(dir, file)))
const open = async (
  DATA_DIR: string,
  database: Pick<OpenDatabase, 'reader' | 'write'>,
  KEYS: 'create' | 'required' = 'create',
) =>
  await openLedgerKeys(
    { DATA_DIR, PUBLIC_DIR: join(DATA_DIR, 'public'), bucket: null, KEYS },
    database,
    { clock: systemClock, random: systemRandom, fetch },
  )
const nameIn = async ({ reader }: Pick<OpenDatabase, 'reader'>) =>
  (await findCheckpoint(reader, 'signed'))?.note.split('\n')[0]

test('a new ledger has all its keys, and its database knows the log', async () => {
  const [dir, database] = [tempFolder(), await tempDatabase()]
  await expect(open(dir, database, 'required')).rejects.toThrow('signing-keys.json is missing')
  expect(made(dir)).toEqual([])
  const { log } = await open(dir, database)
  expect(made(dir)).toEqual(files)
  expect(await nameIn(database)).toBe(log.key.name)
  expect((await open(dir, database, 'required')).log.key).toEqual(log.key)
})

test('no key is created beside the published log of a ledger whose keys and database are missing', async () => {
  const dir = tempFolder()
  mkdirSync(join(dir, 'public/log'), { recursive: true })
  writeFileSync(join(dir, 'public/log/checkpoint'), '')
  await expect(open(dir, await tempDatabase())).rejects.toThrow(
    'public/log/checkpoint belongs to a ledger',
  )
  expect(made(dir)).toEqual([])
})

test('no key is created if the bucket contains a published log, or does not answer', async () => {
  const [dir, database] = [tempFolder(), await tempDatabase()]
  const variables = {
    PUBLISH_URL: 's3://bucket/ledger?endpoint=https://s3.test&region=us-east-1',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
    DATA_DIR: dir,
    KEYS: 'create',
  }
  const config = parseConfig({ variables, readFile: () => '' })
  let timeMs = 0
  const clock = {
    ...systemClock,
    monotonic: () => timeMs,
    sleep: async (ms: number) => await Promise.resolve(void (timeMs += ms)),
  }
  const asked: string[] = []
  const openWith = async (status: number) =>
    await openLedgerKeys(config, database, {
      clock,
      random: systemRandom,
      fetch: async (url) => {
        asked.push(String(url))
        return await Promise.resolve(new Response('a checkpoint', { status }))
      },
    })
  await expect(openWith(200)).rejects.toThrow('log/checkpoint in the bucket belongs to a ledger')
  await expect(openWith(503)).rejects.toThrow('the object store answered 503')
  expect(made(dir)).toEqual([])
  await openWith(404)
  expect(made(dir)).toEqual(files)
  expect(new Set(asked)).toEqual(new Set(['https://s3.test/bucket/ledger/log/checkpoint']))
})

test.each(files)(
  '%s that is lost beside its database is named, and no key is created',
  async (file) => {
    const [dir, database] = [tempFolder(), await tempDatabase()]
    const before = await open(dir, database)
    rmSync(join(dir, file))
    const left = made(dir)
    for (const keys of ['create', 'required'] as const) {
      await expect(open(dir, database, keys)).rejects.toThrow(`${file} is missing: restore`)
    }
    expect(made(dir)).toEqual(left)
    expect(readdirSync(join(dir, 'keys'))).toHaveLength(file.startsWith('keys') ? 2 : 3)
    expect(await nameIn(database)).toBe(before.log.key.name)
  },
)

test('keys beside a database that does not know their log are not completed, and the database does not learn it', async () => {
  const dir = tempFolder()
  await open(dir, await tempDatabase())
  const other = await tempDatabase()
  await open(dir, other)
  expect(await nameIn(other)).toBeUndefined()
  rmSync(join(dir, 'secrets/hash.key'))
  await expect(open(dir, other)).rejects.toThrow('hash.key is missing')
})

test('the key of another log than that of the database is refused', async () => {
  const [dir, elsewhere, database] = [tempFolder(), tempFolder(), await tempDatabase()]
  await open(dir, database)
  await open(elsewhere, await tempDatabase())
  renameSync(join(elsewhere, 'keys/log.pem'), join(dir, 'keys/log.pem'))
  await expect(open(dir, database)).rejects.toThrow('belongs to another log than the database')
})

test('a first start that ends before or after its commit is completed by the next one', async () => {
  for (const end of ['before', 'after'] as const) {
    const [dir, database] = [tempFolder(), await tempDatabase()]
    const { reader } = database
    const write: OpenDatabase['write'] = async (work, locks) => {
      const result = await database.write(async (tx) => {
        const done = await work(tx)
        if (end === 'before') throw new Error('the power is cut')
        return done
      }, locks)
      expect(result).toBeUndefined()
      throw new Error('the power is cut')
    }
    await expect(open(dir, { reader, write })).rejects.toThrow('the power is cut')
    expect(existsSync(join(dir, 'keys/log.pem'))).toBe(false)
    const { log } = await open(dir, database)
    expect(await nameIn(database)).toBe(log.key.name)
    expect(readdirSync(join(dir, 'keys')).toSorted()).toEqual([
      'job-exchange.pem',
      'log.pem',
      'signing-keys.json',
    ])
  }
})

test('a key whose creation was not committed is not used by a start with KEYS=required', async () => {
  const [dir, database] = [tempFolder(), await tempDatabase()]
  const { reader } = database
  const cut = { reader, write: async () => await Promise.reject(new Error('the power is cut')) }
  await expect(open(dir, cut)).rejects.toThrow('the power is cut')
  writeFileSync(join(dir, 'keys/log.pem.new'), '', { mode: 0o600 })
  await expect(open(dir, database, 'required')).rejects.toThrow('log.pem is missing')
})

test('processes that start a new ledger at once have the same keys', async () => {
  const [dir, url] = [tempFolder(), await newDatabaseIn(tempFolder())]
  const databases = await Promise.all(
    Array.from({ length: 6 }, async () => await openDatabase({ url })),
  )
  const opened = await Promise.all(databases.map(async (database) => await open(dir, database)))
  expect(new Set(opened.map(({ log }) => log.key.name))).toEqual(
    new Set([await nameIn(databases[0] ?? (await tempDatabase()))]),
  )
  await Promise.all(databases.map(async ({ close }) => await close()))
})
