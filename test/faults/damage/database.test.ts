/** A database with flipped bytes: all programs report the damage and the remedy, and nothing false is published. */
import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import { copyOf, newLedger, problemsOfSet, stop, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { wholeReceipts } from '../../e2e/whole-receipts.ts'
import { run } from '../../support/program.ts'
import type { Running } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts the compiled program')

type Damage = (bytes: Buffer, pageOf: (name: string) => number) => void

const leaderboard = 'api/v1/leaderboard.json'
const pageBytes = 4096
const flip = (bytes: Buffer, at: number, count: number): void => {
  for (let offset = at; offset < at + count; offset += 1) {
    bytes[offset] = (bytes[offset] ?? 0) ^ 0xa5
  }
}

const damages: readonly { readonly name: string; readonly does: Damage }[] = [
  { name: 'the head of the file', does: (bytes) => flip(bytes, 0, 16) },
  { name: 'the page of a table', does: (bytes, of) => flip(bytes, of('receipts'), 64) },
  {
    name: 'the page of an index',
    does: (bytes, of) => flip(bytes, of('sqlite_autoindex_receipts_1'), 64),
  },
  { name: 'the schema', does: (bytes) => flip(bytes, 100, 64) },
]

const program = useProgram(installBoardProgram)
/** The damaged files, copied for each test. */
let sound: Ledger
let ledger: Ledger
let pages: ReadonlyMap<string, number>
let before: string

beforeAll(async () => {
  sound = newLedger(program, { POLL: 'off' })
  const { service, url } = await sound.start({ BUILDER: 'off' })
  await createClients(4).post(url, 15)
  await stop(service)
  expect(await sound.builder(['--once']).ended).toBe(0)
  before = sound.manifest().set_sha256
  pages = await sound.withDatabase(async ({ reader }) => {
    const { rows } = await sql<{ name: string; rootpage: number }>`
      select name, rootpage from sqlite_schema`.execute(reader)
    return new Map(rows.map(({ name, rootpage }) => [name, (rootpage - 1) * pageBytes]))
  })
})
afterAll(() => {
  sound.remove()
})
beforeEach(() => {
  ledger = copyOf(program, sound)
  return () => ledger.remove()
})

function damage(does: Damage): void {
  const path = join(ledger.dataDir, 'ledger.db')
  const bytes = readFileSync(path)
  does(bytes, (name) => {
    const page = pages.get(name)
    if (page === undefined) throw new Error(`no ${name}`)
    return page
  })
  // In place: a truncated file would be another kind of damage for a service that reads at this moment.
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, 0)
  closeSync(file)
}

/** Removes all writes since the last checkpoint. */
const cutLog = (): void => truncateSync(join(ledger.dataDir, 'ledger.db-wal'), 0)

const doctor = (): Running =>
  run(program.scriptOf('scripts/cli/main.ts'), ['admin', 'doctor'], ledger.env)

describe('a damaged database', () => {
  test.for(damages)('damage to $name is detected by every check', async ({ name, does }) => {
    damage(does)
    const service = ledger.service({ BUILDER: 'off' })
    expect(await service.ended).toBe(1)
    expect(service.output()).toMatch(/^The database cannot be used: .+/m)
    expect(service.output()).toContain('agent-income-ledger admin restore <backup>')
    expect(service.output()).not.toMatch(/^\s+at /m)

    const looked = doctor()
    expect(await looked.ended).not.toBe(0)
    expect(looked.output()).toMatch(/BAD +pages of the database|database is broken/)

    const builder = ledger.builder(['--once'])
    // No document reads this index, so the builder publishes correct documents.
    if (name !== 'the page of an index') {
      expect(await builder.ended).toBe(1)
      expect(ledger.manifest().set_sha256).toBe(before)
    }
    await builder.ended
    expect(ledger.document(leaderboard)).toEqual(sound.document(leaderboard))
    expect(problemsOfSet(ledger)).toEqual([])
  })

  /** Name, receipts that only the write-ahead log contains, and damage. */
  const endings = [
    ['whose pages are damaged', 0, () => damage((bytes, of) => flip(bytes, of('receipts'), 64))],
    ['whose write-ahead log is cut', 1, cutLog],
  ] as const

  test.each(endings)(
    'a database %s ends the service, which answers 503 and serves documents until then',
    async (_name, receipts, does) => {
      const { service, url } = await ledger.start({ BUILDER: 'off' })
      await createClients(1).post(url, receipts)
      does()
      expect((await fetch(`${url}/api/v1/rails`)).status).toBe(200)
      expect((await fetch(`${url}/api/v1/receipts?rail=x402`)).status).toBe(503)
      expect(await service.ended).toBe(1)
      expect(service.output()).toMatch(/"level":"error","message":"the database has failed/)
      expect(service.output()).toContain('"message":"stopped"')
      expect(ledger.manifest().set_sha256).toBe(before)
    },
  )

  test('a database whose write-ahead log is cut ends the builder', async () => {
    const builder = ledger.builder([])
    await builder.says('"message":"published"')
    cutLog()
    expect(await builder.ended).toBe(1)
    expect(builder.output()).toMatch(/"level":"error","message":"the database has failed/)
  })

  test('after damage to the write-ahead log earlier commits are kept, and the others are accepted again', async () => {
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    const clients = createClients(1)
    const answers = await clients.post(url, 20)
    service.kill('SIGKILL')
    await service.ended
    const path = join(ledger.dataDir, 'ledger.db-wal')
    const bytes = readFileSync(path)
    flip(bytes, Math.floor(bytes.length / 2), 16)
    writeFileSync(path, bytes)

    const { service: next, url: nextUrl } = await ledger.start({ BUILDER: 'off' })
    const left = await wholeReceipts(ledger)
    expect(left.size).toBeLessThan(60 + answers.length)
    expect(left.size).toBeGreaterThan(60)
    for (const { raw, receiptId } of answers) {
      const status = left.has(receiptId ?? '') ? 200 : 201
      expect(await clients.send(nextUrl, raw)).toMatchObject({ status, receiptId })
    }
    expect((await wholeReceipts(ledger)).size).toBe(60 + answers.length)
    await stop(next)
  })
})
