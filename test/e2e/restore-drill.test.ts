/** Makes a backup under load and restores it on a new disk by the runbook. No earlier signature is accepted again. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { withPlainFile } from '../../scripts/cli/admin/integrity.ts'
import { SIGNED_WINDOW_MS } from '../../src/auth/timestamps.ts'
import { minuteMs } from '../../src/core/time.ts'
import { findCheckpoint } from '../../src/db/log.ts'
import type { Database } from '../../src/db/schema.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { readExposition, total } from '../metrics/exposition.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { boardReceipt, installBoardProgram } from './board.ts'
import { sendReceipt } from './clients.ts'
import { healthOf, newLedger, stop, useProgram } from './ledger.ts'
import { admin } from './operator.ts'
import { follow, runbook, sizeIn, verifiedSize } from './runbook.ts'

allowSlowTests('starts the compiled program')

const clients = 6
const beforeBackup = 150
const afterBackup = 60
/** The clock of every second client is ahead. */
const aheadMs = 4 * minuteMs

const program = useProgram(installBoardProgram)

/** Tables that a receipt writes to, with their keys. */
const tables = {
  receipts: 'id',
  reputation_ledger: 'receipt_id',
  used_messages: "wallet || ' ' || message_sha256",
} as const

async function rowHashes(db: Kysely<Database>): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>()
  for (const [table, key] of Object.entries(tables)) {
    const { rows } = await sql<
      Record<string, unknown>
    >`select ${sql.raw(key)} as row_key, * from ${sql.table(table)}`.execute(db)
    for (const row of rows) {
      const hash = createHash('sha256')
        .update(JSON.stringify(Object.entries(row)))
        .digest('hex')
      hashes.set(`${table} ${String(row['row_key'])}`, hash)
    }
  }
  return hashes
}

const hashesIn = async (file: string) => await withPlainFile(file, 'read-only', rowHashes)

const errorBody = z.object({ code: z.string() })

async function post(url: string, raw: string): Promise<{ status: number; code: string | null }> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/receipts`, { method: 'POST', headers, body: raw })
  const body = errorBody.safeParse(await answer.json())
  return { status: answer.status, code: body.data?.code ?? null }
}

test('a restored backup contains every write acknowledged before it, and no earlier signature is accepted again', async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const root = join(ledger.dataDir, '..')
  const seenLog = join(root, 'seen-log')
  const { service, url } = await ledger.start({ METRICS_PORT: '0' })
  const seen = async () => await verifiedSize(url, seenLog)
  await expect.poll(seen).toBeGreaterThan(0)
  const answered: { readonly id: string; readonly raw: string }[] = []
  const load = { isEnough: false }
  let made = 0
  const reached = async (count: number) =>
    await expect.poll(() => answered.length, { interval: 5 }).toBeGreaterThanOrEqual(count)
  const client = async () => {
    while (!load.isEnough) {
      made += 1
      const raw = await boardReceipt(made, (made % 2) * aheadMs)
      const { receiptId: id } = await sendReceipt(url, raw)
      if (id === null) throw new Error('the service has not accepted a receipt')
      answered.push({ id, raw })
    }
  }
  const running = Promise.all(Array.from({ length: clients }, client))
  await reached(beforeBackup)
  const before = answered.length
  const backup = join(root, 'backup/ledger.db')
  const { out } = await follow(program, ledger, root, runbook.backUp)
  for (const place of ['data/keys', 'data/secrets', 'public/log']) {
    expect(out).toContain(join(root, place))
  }
  const sizeThen = await seen()
  const whenDone = answered.length
  await reached(whenDone + afterBackup)
  load.isEnough = true
  await running
  const port = /"message":"metrics".*?"port":(\d+)/.exec(service.output())?.[1]
  const metrics = readExposition(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  const route = { route: '/api/v1/receipts', method: 'POST', status: '2xx' }
  expect(total(metrics, 'ledger_http_requests_total', route)).toBe(answered.length)
  await expect.poll(seen).toBeGreaterThan(sizeThen + afterBackup)
  await stop(service)
  await follow(program, ledger, root, runbook.copyLog)
  const { version } = ledger.manifest()
  const original = await hashesIn(join(ledger.dataDir, 'ledger.db'))

  const restored = newLedger(program, { POLL: 'off' })
  mkdirSync(restored.dataDir)
  const damaged = join(root, 'damaged.db')
  const bytes = readFileSync(backup)
  bytes[5000] = (bytes[5000] ?? 0) ^ 0xff
  writeFileSync(damaged, bytes)
  cpSync(`${backup}.manifest.json`, `${damaged}.manifest.json`)
  expect((await admin(restored, 'restore', damaged)).code).toBe(1)
  expect(readdirSync(restored.dataDir).filter((name) => name.startsWith('ledger.db'))).toEqual([])
  await follow(program, restored, root, runbook.restore)

  const held = await hashesIn(join(restored.dataDir, 'ledger.db'))
  const missing = answered.slice(0, before).filter(({ id }) => !held.has(`receipts ${id}`))
  expect(missing).toEqual([])
  const altered = [...held].filter(([key, hash]) => original.get(key) !== hash)
  expect(altered).toEqual([])
  const signed = await restored.withDatabase(async ({ reader }) => {
    expect((await recomputeScores(reader)).differences).toEqual([])
    return await findCheckpoint(reader, 'signed')
  })

  const { service: second, url: secondUrl } = await restored.start()
  const unknown = answered.filter(({ id }) => !held.has(`receipts ${id}`))
  expect(unknown.length).toBeGreaterThanOrEqual(afterBackup - clients)
  for (const { raw } of unknown) {
    expect(await post(secondUrl, raw)).toEqual({ status: 401, code: 'signature_expired' })
  }
  for (const { raw } of answered.slice(0, 5)) {
    expect((await post(secondUrl, raw)).status).not.toBe(201)
  }
  const rows = await hashesIn(join(restored.dataDir, 'ledger.db'))
  expect([...rows.keys()].toSorted()).toEqual([...held.keys()].toSorted())
  const now = await post(secondUrl, await boardReceipt(made + 1))
  expect(now).toEqual({ status: 401, code: 'signature_expired' })
  const later = await boardReceipt(made + 1, SIGNED_WINDOW_MS)
  expect((await post(secondUrl, later)).status).toBe(201)
  const problems = ['build', 'log'].map((job) => `the last run of the job ${job} failed`)
  const healthNow = async () => await healthOf(secondUrl)
  await expect
    .poll(async () => (await healthNow()).problems)
    .toEqual(expect.arrayContaining(problems))
  const detail = (await healthNow()).jobs['log']?.detail
  expect(detail).toContain(
    `the database has ${signed?.size} entries of the log, but the published log is lost`,
  )
  expect(detail).toMatch(/admin log accept agent-income-ledger\/log\/[0-9a-f]{16} \d+$/)
  await stop(second)
  await restored.withDatabase(async ({ reader }) => {
    expect(await findCheckpoint(reader, 'signed')).toEqual(signed)
  })
  expect(existsSync(join(restored.publicDir, 'current'))).toBe(false)

  await follow(program, restored, root, runbook.putLogBack)
  const { service: third, url: thirdUrl } = await restored.start()
  await third.says('"message":"serving"')
  const sizeBefore = sizeIn(seenLog)
  await expect.poll(() => verifiedSize(thirdUrl, seenLog)).toBeGreaterThan(sizeBefore)
  expect(restored.manifest().version).toBeGreaterThan(version)
  await stop(third)
  process.stdout.write(
    `drill: ${before} answered before the backup, 0 lost, 0 of ${held.size} rows altered; ${unknown.length} replays refused\n`,
  )
  restored.remove()
  ledger.remove()
}, 300_000)
