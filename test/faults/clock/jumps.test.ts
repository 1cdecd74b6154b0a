/**
 * The clock on the wall jumps under the compiled service and its builder: signatures are judged by the time that it
 * shows, what was used stays used, events and published times never go back, and jobs run on, neither in a flood nor
 * never again.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { hourMs, minuteMs } from '../../../src/core/time.ts'
import { eventsSince } from '../../../src/db/events.ts'
import { installBoardProgram } from '../../e2e/board.ts'
import { addressOf, newLedger, problemsOfSet } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import type { Program, Running } from '../../support/program.ts'
import { receiptFacts, submission, workerSigned } from '../../support/receipts.ts'
import { ed25519Key, nearWallet, signedBody } from '../../support/wallets.ts'
import { fakedClock, noFakedClock } from './faked-clock.ts'
import type { FakedClock } from './faked-clock.ts'

const worker = nearWallet('worker')
const skipped = noFakedClock === null ? '' : ` (left out: ${noFakedClock})`

let program: Program
let folder: string
let clock: FakedClock
let ledger: Ledger
let service: Running
let url: string

beforeAll(async () => {
  program = installBoardProgram()
  folder = mkdtempSync(join(tmpdir(), 'ledger-clock-'))
  clock = fakedClock(folder)
  ledger = newLedger(program, { POLL: 'off' })
  service = ledger.service(noFakedClock === null ? clock.env : {})
  url = await addressOf(service)
  await service.says('"message":"serving"')
})
afterAll(async () => {
  service.kill('SIGTERM')
  expect(await service.ended).toBe(0)
  ledger.remove()
  program.remove()
  rmSync(folder, { recursive: true })
})

const answer = z.looseObject({ code: z.string().optional() })
async function post(path: string, body: object) {
  const headers = { 'Content-Type': 'application/json' }
  const sent = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${url}${path}`, sent)
  return { status: response.status, code: answer.parse(await response.json()).code }
}

async function receipt(summary: string, nowMs: number): Promise<object> {
  const facts = receiptFacts(worker, { summary, occurred_at: '2026-01-02T00:00:00.000Z' })
  return await submission(worker, workerSigned(facts, ed25519Key('worker')), nowMs)
}
const sendReceipt = async (body: object) => await post('/api/v1/receipts', body)
const register = async (nowMs: number) =>
  await signedBody(worker, 'register', { skills: ['agent-news-reporting'] }, { nowMs })

const health = z.object({
  status: z.string(),
  snapshot_sha256: z.string(),
  snapshot_age_s: z.number(),
  jobs: z.object({ build: z.object({ outcome: z.string() }) }),
})
const healthOf = async () => health.parse(await (await fetch(`${url}/api/v1/health`)).json())

/** A write is in the published documents: the builder has run again. */
async function expectPublished(before: string): Promise<void> {
  await expect.poll(async () => (await healthOf()).snapshot_sha256).not.toBe(before)
  await expect.poll(async () => (await healthOf()).status).toBe('ok')
  expect(problemsOfSet(ledger)).toEqual([])
}

describe.skipIf(noFakedClock !== null)(`a clock that jumps${skipped}`, () => {
  test.for([
    ['two hours forward', 2 * hourMs],
    ['back to where it was', 0],
    ['three hours back', -3 * hourMs],
    ['a year forward', 365 * 24 * hourMs],
    ['back from there', 0],
  ] as const)('%s', async ([name, offsetMs]) => {
    await expect.poll(async () => (await healthOf()).jobs.build.outcome).toBe('ok')
    const signedBefore = clock.now()
    const used = await receipt(`used ${name}`, signedBefore)
    const unused = await receipt(`unused ${name}`, signedBefore)
    expect(await sendReceipt(used)).toMatchObject({ status: 201 })
    const before = (await healthOf()).snapshot_sha256
    const runsBefore = await buildRuns()

    clock.jumpTo(offsetMs)
    // Signed by the clock of before, which is hours off now.
    expect(await sendReceipt(unused)).toEqual({ status: 401, code: 'signature_expired' })
    expect(await sendReceipt(await receipt(`after ${name}`, clock.now()))).toMatchObject({
      status: 201,
    })
    expect((await sendReceipt(used)).status).toBe(401)
    await expectPublished(before)
    expect((await healthOf()).snapshot_age_s).toBeGreaterThanOrEqual(0)
    // A minute of jobs is a handful of runs, however many minutes the clock has passed over.
    expect((await buildRuns()) - runsBefore).toBeLessThan(10)
  })

  test('leaves what was used before it used after it', async () => {
    const body = await register(clock.now())
    expect((await post('/api/v1/workers/register', body)).status).toBe(201)
    clock.jumpTo(2 * hourMs)
    expect(await post('/api/v1/workers/register', body)).toMatchObject({ status: 401 })
    clock.jumpTo(minuteMs)
    // The first answer again, and not a second registration.
    expect((await post('/api/v1/workers/register', body)).status).toBe(200)
  })

  test('never takes the times of events back', async () => {
    const times = await ledger.withDatabase(async ({ reader }) => {
      const events = await eventsSince(reader, { time: '2020-01-01T00:00:00.000Z' }, 10_000)
      return events.map(({ createdAt }) => createdAt)
    })
    expect(times).toEqual([...new Set(times)].toSorted())
  })
})

async function buildRuns(): Promise<number> {
  return await ledger.withDatabase(async ({ reader }) => {
    const rows = await reader
      .selectFrom('job_runs')
      .select('id')
      .where('job', '=', 'build')
      .execute()
    return rows.length
  })
}
