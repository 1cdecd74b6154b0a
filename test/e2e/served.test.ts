/** Histories of a real ledger that are edited in its database, its archive or its files, and what `log verify --ledger` says. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { hourMs } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import { systemClock } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import { serveDuringTest } from '../support/local-server.ts'
import { installProgram, run } from '../support/program.ts'
import type { Program } from '../support/program.ts'
import { freePort } from '../support/server-process.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { addressOf, healthOf, stop } from './ledger.ts'

allowSlowTests('fills a demo ledger and starts it for each test')

let program: Program
let folder: string
let port: number

beforeAll(async () => {
  program = installProgram()
  const changelog = new URL('../../CHANGELOG.md', import.meta.url)
  cpSync(changelog, join(program.dir, 'CHANGELOG.md'))
  folder = mkdtempSync(join(tmpdir(), 'ledger-served-'))
  port = await freePort()
  // Once to fill it, and once more, so that each edited copy starts from a set that is logged.
  for (let starts = 0; starts < 2; starts += 1) await start(join(folder, 'data'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  program.remove()
})

/** Runs the ledger until the builder has published and logged a set. */
async function start(dataDir: string, during?: (url: string) => Promise<void>): Promise<void> {
  const ledger = run(program.scriptOf('scripts/demo.ts'), [], {
    DATA_DIR: dataDir,
    PORT: String(port),
    LIMITS: 'off',
  })
  const url = await addressOf(ledger)
  const startedAt = new Date().toISOString()
  const builtAt = async () => (await healthOf(url)).jobs['build']?.finished_at ?? ''
  await vi.waitUntil(async () => (await builtAt()) > startedAt, { timeout: 60_000, interval: 100 })
  try {
    await during?.(url)
  } finally {
    await stop(ledger)
  }
}

/** The sleep gives the builder the time to log a new set. */
async function verify(url: string, { args = [], now = systemClock.now }: Partial<Look> = {}) {
  const clock = { ...systemClock, now, sleep: () => systemClock.sleep(2000) }
  return await runCommand(['log', 'verify', '--ledger', url, ...args], {}, { fetch, clock })
}

interface Look {
  readonly args: readonly string[]
  readonly now: () => number
}

/** Later than the tolerance for lists that are older than the log. */
const later = { now: () => systemClock.now() + 2 * hourMs }

/** A copy of the ledger, with statements run on its database. */
async function edited(...statements: readonly string[]): Promise<string> {
  const dataDir = join(mkdtempSync(join(folder, 'copy-')), 'data')
  cpSync(join(folder, 'data'), dataDir, { recursive: true })
  const database = await openDatabase({ url: join(dataDir, 'ledger.db') })
  for (const statement of statements) await sql.raw(statement).execute(database.db)
  await database.close()
  return dataDir
}

test('log verify --ledger --archive accepts a running ledger that is honest', async () => {
  const dataDir = await edited()
  await start(dataDir, async (url) => {
    const { out, code } = await verify(url, {
      args: ['--archive', join(dataDir, 'snapshots.git')],
    })
    expect(out).toMatch(/good {2}history: [1-9]\d* served, each with its entry/)
    expect(out).toMatch(/good {2}receipt: [1-9]\d* served, each with its entry/)
    expect(out).toMatch(/good {2}archive: [1-9]\d* served, each with its entry/)
    expect(code).toBe(0)
  })
})

const columns =
  'rail, duration_ms, outcome, error, figures, evidence, rule, status_after, started_at, bundle'
const receiptAt = (place: number) =>
  `(select id from receipts where onchain = 'none' order by seq limit 1 offset ${place})`
const someDispute = `(select id from disputes order by seq limit 1)`
const edits: readonly (readonly [what: string, statements: readonly string[], says: RegExp])[] = [
  [
    'a backdated poll is inserted',
    [
      `insert into polls (${columns}) select rail, duration_ms, outcome, error, figures, evidence, rule,
        status_after, strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '-1 hour'), '${'0'.repeat(64)}'
        from polls where outcome = 'ok' order by id limit 1`,
    ],
    /BAD {3}history: .*history of \w+ at \S+ is served without an entry/,
  ],
  [
    'a failed poll is deleted',
    [`delete from polls where id = (select min(id) from polls where outcome = 'failed')`],
    /BAD {3}history: .*entry \d+ \(history \w+, of \S+\) is not served/,
  ],
  [
    'a past figure is multiplied by ten',
    [
      `update polls set figures = json_set(figures, '$.figures.tpv30dMicroUsdc',
        10 * json_extract(figures, '$.figures.tpv30dMicroUsdc'))
        where id = (select min(id) from polls where json_extract(figures, '$.figures.tpv30dMicroUsdc') > 0)`,
    ],
    /BAD {3}history: .*history of \w+ at \S+ differs from entry \d+/,
  ],
  [
    'a dispute is dropped',
    [
      'drop trigger dispute_steps_no_delete',
      `delete from dispute_steps where dispute_id = ${someDispute}`,
      `delete from disputes where id = ${someDispute}`,
    ],
    /BAD {3}dispute: .*entry \d+ \(dispute dsp_\w+\/opened, of \S+\) is not served/,
  ],
  [
    'a receipt is changed with its content',
    [
      `update receipts set amount_micro_usdc = 7000000, content = json_set(content, '$.amount_usdc', 7)
        where id = ${receiptAt(1)}`,
    ],
    /BAD {3}receipt: .*receipt rcp_\w+ differs from entry \d+/,
  ],
  [
    'a receipt is deleted',
    [
      'drop trigger reputation_ledger_no_delete',
      `delete from reputation_reviews where receipt_id = ${receiptAt(0)}`,
      `delete from reputation_ledger where receipt_id = ${receiptAt(0)}`,
      `delete from receipts where id = ${receiptAt(0)}`,
    ],
    /BAD {3}receipt: .*entry \d+ \(receipt rcp_\w+, of \S+\) is not served/,
  ],
  [
    'an open flag is hidden',
    [`delete from flags where id = (select min(id) from flags where closed_at is null)`],
    /BAD {3}flag: .*entry \d+ \(flag flg_\w+ opened, of \S+\) is not served/,
  ],
]

test('log verify --ledger names each history that was edited in the database', async () => {
  await start(await edited(...edits.flatMap(([, statements]) => statements)), async (url) => {
    const { out, code } = await verify(url, later)
    for (const [what, , says] of edits) expect.soft(out, what).toMatch(says)
    expect(code).toBe(1)
  })
})

test('log verify --archive notices past commits that were rewritten', async () => {
  const dataDir = await edited()
  const repository = join(dataDir, 'snapshots.git')
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' }).trim()
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b']
  const rewritten = git(...identity, 'commit-tree', 'main^{tree}', '-m', 'a better past')
  git('update-ref', 'refs/heads/main', rewritten)
  await start(dataDir, async (url) => {
    const { out, code } = await verify(url, { ...later, args: ['--archive', repository] })
    expect(out).toMatch(/BAD {3}archive: .*entry \d+ \(archive \w{40}, of \S+\) is not served/)
    expect(code).toBe(1)
  })
})

const addedPath = '/desk/old.md'

/** Passes requests on, except for paths with a forged answer. */
async function forging(url: string, forge: (path: string, body: Buffer) => Buffer | string) {
  return await serveDuringTest((request, response) => {
    const path = request.url ?? ''
    const answer = async () => {
      const found = await fetch(`${url}${path}`)
      response
        .writeHead(path === addedPath ? 200 : found.status)
        .end(forge(path, Buffer.from(await found.arrayBuffer())))
    }
    void answer()
  })
}

test('log verify --ledger notices a swapped key, a backdated article and a second set in forged files', async () => {
  const dataDir = await edited()
  await start(dataDir, async (url) => {
    const site = await forging(url, (path, body) => {
      const text = body.toString()
      if (path === '/api/v1/platforms')
        return text.replace(/"public_key":"\w{8}/, '"public_key":"AAAAAAAA')
      if (path === addedPath) return 'backdated'
      if (path === '/snapshot.json') return text.replace(/"version":(\d+)/, '"version":1$1')
      return path === '/api/v1/desk/feed.json'
        ? text.replace('"articles":[', '"articles":[{"slug":"old","date":"2026-01-01"},')
        : body
    })
    const { out, code } = await verify(site, later)
    expect(out).toMatch(/BAD {3}key: key of \S+ is served without an entry; entry \d+ \(key/)
    expect(out).toMatch(/BAD {3}article: article old is served without an entry/)
    expect(out).toMatch(/BAD {3}snapshot: snapshot snapshot differs from entry \d+/)
    expect(code).toBe(1)
  })
})
