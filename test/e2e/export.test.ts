import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { CompiledQuery } from 'kysely'
import { numberToHex } from 'viem'
import { beforeAll, expect, onTestFinished, test } from 'vitest'

import { asJson } from '../../builder/documents/document.ts'
import { exportIfDue } from '../../builder/export/export.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import type { PublicFiles } from '../../builder/publish/store/store.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { lastExport } from '../../builder/world/exported.ts'
import { gatherWorld } from '../../builder/world/gather.ts'
import { createHistory } from '../../builder/world/history.ts'
import type { ExportList } from '../../src/contract/schemas/export.ts'
import { railList } from '../../src/contract/schemas/rail.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'
import { putWorker } from '../../src/db/workers.ts'
import { makePartner } from '../support/partners.ts'
import { receiptRow, storeReceipt } from '../support/receipts.ts'
import { documentsOf } from '../support/site.ts'
import { storeStatement } from '../support/statements.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'
import { smallWorld } from '../support/world.ts'

const service = useService({ per: 'file' })
const receipts = 1203
/** A number that SQLite rounds when it parses its text. */
const largeMicroUsdc = 719_541_731_663_369
const formula = '=HYPERLINK("https://evil.example")'
const alice = parseWallet(evmWallet('alice').address)
let store: PublicFiles
let list: ExportList | null

function exportAt(nowMs: number): Promise<ExportList | null> {
  const dir = join(service.published.dir, '../work')
  return exportIfDue({ ...options(), nowMs, store, dir })
}

function options() {
  const { database, keys } = service.actions
  return {
    database,
    history: createHistory(database.reader),
    dataDir: 'data',
    adapters: railAdapters,
    site: smallWorld().site,
    pollEveryMs: 6 * hourMs,
    publicKeys: service.published.publicKeys,
    exchangeKeys: () => Promise.resolve(keys.exchange()),
    nowMs: service.clock.now(),
    check: () => Promise.resolve(),
    isDemo: false,
    signal: new AbortController().signal,
  }
}

async function publishExported(): Promise<void> {
  const world = await gatherWorld(options())
  await service.published.publish([...documentsOf(world)], service.clock.now())
  await service.store.reload()
}

const get = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, init)
const jsonOf = async (path: string) => (await service.getJson(path)).body

/** Opens the downloaded database. */
async function downloaded() {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-export-'))
  const path = join(folder, 'ledger.sqlite')
  const answer = await get('/export/ledger.sqlite')
  writeFileSync(path, Buffer.from(await answer.arrayBuffer()))
  const database = await openSqlite3({ path, mode: 'read-only', heldLimitMs: 5000 })
  onTestFinished(async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  })
  return async (sql: string) =>
    (await database.executeQuery<Record<string, unknown>>(CompiledQuery.raw(sql))).rows
}

function cellOf(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' && value !== null ? canonicalize(asJson(value)) : value
}

/** RFC 4180. */
function csvRows(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r\n)/g,
  )) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

beforeAll(async () => {
  const nowMs = service.clock.now()
  store = createDirectory({
    publicDir: service.published.dir,
    fence: 1,
    check: () => Promise.resolve(),
  })
  await makePartner(service, evmWallet('bob'), { handle: 'bob-agents', tier: 'free' })
  const facts = {
    skills: ['a'],
    url: null,
    bio: 'Two\r\nlines, "quoted"',
    receiptKey: null,
    agent: null,
  }
  const { database } = service.actions
  await database.write(async (tx) => {
    await putWorker(tx, { wallet: alice, now: isoTime(nowMs), displayName: formula, ...facts })
  })
  // A write may take ten seconds, and this is one statement for each receipt.
  for (let start = 0; start < receipts; start += 500) {
    await database.write(async (tx) => {
      for (let at = start; at < Math.min(start + 500, receipts); at += 1) {
        const id = `rcp_${at.toString(16).padStart(64, '0')}`
        const amount = at === 0 ? { amountMicroUsdc: largeMicroUsdc } : {}
        await storeReceipt(
          tx,
          receiptRow(nowMs + at, { id, to: alice, summary: formula, ...amount }),
        )
      }
    })
  }
  await storeStatement(service, alice.display)
  // One more than the export reads at a time.
  for (let at = 1; at <= 500; at += 1) {
    await storeStatement(service, numberToHex(at * 1e9, { size: 20 }))
  }
  list = await exportAt(nowMs)
  await publishExported()
})

test('the published list names every file with size, hash and number of rows', async () => {
  expect(await jsonOf('/export.json')).toEqual(list)
  for (const { path, size, sha256, content_type: contentType } of list?.files ?? []) {
    const answer = await get(path)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect({
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      type: answer.headers.get('content-type'),
      etag: answer.headers.get('etag'),
      length: answer.headers.get('content-length'),
    }).toEqual({ size, sha256, type: contentType, etag: `"${sha256}"`, length: String(size) })
    expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=3600,/)
  }
  expect(list?.files.find(({ path }) => path === '/export/receipts.csv')?.rows).toBe(receipts)
})

test('a known file is not sent again, and an unknown one is not found', async () => {
  const path = '/export/about.csv'
  const etag = (await get(path, { method: 'HEAD' })).headers.get('etag') ?? ''
  expect((await get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304)
  expect((await get('/export/secrets.csv')).status).toBe(404)
})

test('the rows of the database are those of the API, with NULL for unknown figures', async () => {
  const query = await downloaded()
  const { rails } = railList.parse(await jsonOf('/api/v1/rails'))
  const rows = await query('select * from rails')
  const expected = rails.map((rail) => ({
    ...Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, null])),
    ...Object.fromEntries(Object.entries(rail).map(([name, value]) => [name, cellOf(value)])),
    ...Object.fromEntries(rail.unknown_figures.map((name) => [name, null])),
  }))
  expect(rows).toEqual(expected)
  expect(await query('select count(*) as n from rails where tpv_30d_usdc is null')).not.toEqual([
    { n: 0 },
  ])
  const [newest] = await query('select * from receipts limit 1')
  const { receipts: listed } = await jsonOf('/api/v1/receipts?limit=1')
  const known = Object.entries(newest ?? {}).filter(([, value]) => value !== null)
  expect([{ ...Object.fromEntries(known), onchain_verified: false }]).toEqual(listed)
  expect(await query('select count(distinct receipt_id) as n from receipts')).toEqual([
    { n: receipts },
  ])
  expect(await query('select max(amount_usdc) as most from receipts')).toEqual([
    { most: largeMicroUsdc / 1e6 },
  ])
  const { statements } = await jsonOf(`/api/v1/workers/${alice.display}/statements`)
  const stated = await query(`select * from statements where wallet = '${alice.display}'`)
  expect(statements).toEqual(stated.map(({ wallet: _, ...statement }) => statement))
  expect(await query('select count(distinct wallet) as n from statements')).toEqual([{ n: 501 }])
  const { leaderboard } = await jsonOf('/api/v1/leaderboard')
  const [first] = await query('select wallet, rep_score from leaderboard')
  expect(leaderboard).toMatchObject([first])
})

test('each list of the API is a table and a file, also without rows', async () => {
  const names = (list?.files ?? []).map(({ path }) => /(\w+)\.csv$/.exec(path)?.[1])
  expect(names.filter((name) => name !== undefined).sort()).toEqual(
    [
      'about articles audit_claims audit_figures columns disputes flags jobs leaderboard oaths',
      'opportunities pacts partners platforms polls rails receipts skills statements',
      'status_changes tiers workers',
    ].flatMap((line) => line.split(' ')),
  )
  const query = await downloaded()
  const { rails } = railList.parse(await jsonOf('/api/v1/rails'))
  const figures = rails.flatMap(({ rail, audit }) =>
    Object.entries(audit.figures).map(([figure, counted]) => ({ rail, figure, ...counted })),
  )
  expect(await query('select * from audit_figures')).toEqual(figures)
  const tiers = await query('select tier from tiers')
  expect(await jsonOf('/api/v1/partners/tiers')).toMatchObject({ tiers })
})

test('every table describes its columns, and no column has a private fact', async () => {
  const query = await downloaded()
  const columns = await query('select "table", "column" from columns')
  const tables = await query(
    "select name from sqlite_schema where name not in ('about', 'columns')",
  )
  expect(new Set(columns.map(({ table }) => table))).toEqual(
    new Set(tables.map(({ name }) => name)),
  )
  const names = columns.map(({ column }) => column).join(' ')
  expect(names).not.toMatch(/email|ip_|hash_of|secret|renews_at|require_body/)
  expect(await query("select value from about where name = 'ledger'")).toEqual([
    { value: 'https://ledger.test' },
  ])
  expect(await query('select handle from partners')).toEqual([{ handle: 'bob-agents' }])
})

test('a CSV has the rows of its table, and no cell is a formula', async () => {
  const query = await downloaded()
  const [header = [], ...rows] = csvRows(await (await get('/export/workers.csv')).text())
  const [worker = {}] = await query('select * from workers')
  const cells = Object.entries(worker).map(([name, value]) => [name, value ?? ''] as const)
  const expected = { ...Object.fromEntries<unknown>(cells), display_name: `'${formula}` }
  expect(rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]])))).toEqual([
    expected,
  ])
})

test('an interrupted export changes nothing that is served, and the next one completes it', async () => {
  const nowMs = service.clock.now() + dayMs
  const whole = store
  onTestFinished(() => void (store = whole))
  store = { ...whole, put: () => Promise.reject(new Error('no space')) }
  await expect(exportAt(nowMs)).rejects.toThrow('no space')
  expect(await lastExport(service.actions.database.reader)).toEqual(list)
  await publishExported()
  const answer = await get('/export/ledger.sqlite')
  expect((await answer.arrayBuffer()).byteLength).toBe(list?.files[0]?.size)
})

test('the next export is a day later, and its files replace those before the previous ones', async () => {
  const nowMs = service.clock.now()
  const stored = async () =>
    new Set([...(await store.list('export/')).keys()].map((key) => key.split('/')[1]))
  expect(await exportAt(nowMs + 23 * hourMs)).toBeNull()
  const second = await exportAt(nowMs + dayMs)
  const third = await exportAt(nowMs + 2 * dayMs)
  expect(await lastExport(service.actions.database.reader)).toEqual(third)
  const kept = [second, third].flatMap((one) => one?.files ?? []).map(({ sha256 }) => sha256)
  expect(await stored()).toEqual(new Set(kept))
  await publishExported()
  expect(await jsonOf('/export.json')).toEqual(third)
})
