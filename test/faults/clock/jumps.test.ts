/** The wall clock jumps under the compiled service and its builder, which polls recorded sources. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { railAdapters } from '../../../builder/rails/index.ts'
import { loadReference } from '../../../src/actions/reference.ts'
import { fillOath } from '../../../src/auth/messages.ts'
import { hourMs, isoTime, minuteMs, secondMs } from '../../../src/core/time.ts'
import { eventsSince } from '../../../src/db/events.ts'
import type { EventRecord } from '../../../src/db/events.ts'
import { insertRecord } from '../../../src/db/records.ts'
import { installBoardProgram } from '../../e2e/board.ts'
import { healthOf, newLedger, problemsOfSet, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { firstPollMs, startRecordedSources } from '../../e2e/recorded-sources.ts'
import type { RecordedSources } from '../../e2e/recorded-sources.ts'
import type { Running } from '../../support/program.ts'
import { receiptFacts, submission, workerSigned } from '../../support/receipts.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { ed25519Key, nearWallet, partnerHeaders, signedBody } from '../../support/wallets.ts'
import { fakedClock, noFakedClock } from './faked-clock.ts'
import type { FakedClock } from './faked-clock.ts'

allowSlowTests('starts the compiled program')

const worker = nearWallet('worker')
const poster = nearWallet('poster')
const skipped = noFakedClock === null ? '' : ` (skipped: ${noFakedClock})`
/** Up to two full minutes, and a round of polls. */
const patience = { timeout: 110_000 }

const program = useProgram(installBoardProgram)
let folder: string
let clock: FakedClock
let sources: RecordedSources
let ledger: Ledger
let service: Running
let url: string

beforeAll(async () => {
  if (noFakedClock !== null) return
  folder = mkdtempSync(join(tmpdir(), 'ledger-clock-'))
  sources = await startRecordedSources()
  clock = fakedClock(folder, firstPollMs)
  ledger = newLedger(program, { ...sources.env, POLL: 'on', POLL_EVERY_MINUTES: '60' })
  ;({ service, url } = await ledger.start(clock.env))
  await service.says('"message":"serving"')
})
afterAll(async () => {
  if (noFakedClock !== null) return
  service.kill('SIGTERM')
  const code = await service.ended
  await sources.stop()
  ledger.remove()
  rmSync(folder, { recursive: true })
  expect(code).toBe(0)
})

const answer = z.looseObject({ code: z.string().optional(), id: z.string().optional() })
async function post(path: string, body: object, more: Readonly<Record<string, string>> = {}) {
  const headers = { 'Content-Type': 'application/json', ...more }
  const sent = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${url}${path}`, sent)
  const { code, id } = answer.parse(await response.json())
  return { status: response.status, code, id }
}

async function receipt(summary: string, nowMs: number): Promise<object> {
  const facts = receiptFacts(worker, { summary, occurred_at: '2026-01-02T00:00:00.000Z' })
  return await submission(worker, workerSigned(facts, ed25519Key('worker')), nowMs)
}
const sendReceipt = async (body: object) => await post('/api/v1/receipts', body)

async function asPartner(path: string, body: object) {
  const request = { method: 'POST', path, raw: JSON.stringify(body) }
  const headers = await partnerHeaders(poster, request, { nowMs: clock.now(), binding: 'body' })
  return await post(path, body, headers)
}

async function signUp() {
  const timestamp = isoTime(clock.now())
  const text = (await loadReference('data')).oaths.get('partner')?.text ?? ''
  const oath = fillOath(text, { wallet: poster.address, timestamp })
  const fields = { handle: 'poster', display_name: 'Poster', tier: 'free', timestamp }
  const oath_signature = await poster.sign(oath)
  return await asPartner('/api/v1/partners/signup', { ...fields, oath_signature })
}

async function postJob(openMs: number): Promise<string> {
  const what = { title: 'A job', description: 'Work.', skills: ['agent-news-reporting'] }
  const deadline = isoTime(clock.now() + openMs)
  const posted = await asPartner('/api/v1/jobs', { ...what, budget_usdc: '5', deadline })
  expect(posted).toMatchObject({ status: 201 })
  return posted.id ?? ''
}

let words = 0
async function feedback() {
  words += 1
  return await post('/api/v1/feedback', { message: `Words ${words}` })
}

async function expectPublished(before: string | null): Promise<void> {
  await expect.poll(async () => (await healthOf(url)).snapshot_sha256, patience).not.toBe(before)
  await expect.poll(() => problemsOfSet(ledger)).toEqual([])
}

/** All status changes of rails, after each jump. */
const transitionsAfter = new Map<string, readonly EventRecord[]>()

interface Rows {
  readonly polls: ReadonlyMap<string, number>
  readonly builds: number
  readonly transitions: readonly EventRecord[]
  readonly events: readonly EventRecord[]
  readonly used: number
  /** Counts of disputes, which are deleted after two days. */
  readonly networkDisputes: number
}

async function rows(): Promise<Rows> {
  return await ledger.withDatabase(async ({ reader }) => {
    const count = reader.fn.countAll<number>().as('count')
    const polls = await reader.selectFrom('polls').select(['rail', count]).groupBy('rail').execute()
    const builds = await reader
      .selectFrom('job_runs')
      .select(count)
      .where('job', '=', 'build')
      .executeTakeFirstOrThrow()
    const used = await reader.selectFrom('used_messages').select(count).executeTakeFirstOrThrow()
    const networks = await reader
      .selectFrom('network_disputes')
      .select(count)
      .executeTakeFirstOrThrow()
    const events = await eventsSince(reader, { seq: 0 }, 10_000)
    return {
      polls: new Map(polls.map((row) => [row.rail, row.count])),
      builds: builds.count,
      transitions: events.filter(({ kind }) => kind === 'rail_transition'),
      events,
      used: used.count,
      networkDisputes: networks.count,
    }
  })
}

/** Transitions of a job that the builder recorded after a timeout. */
async function endsByClock(job: string): Promise<readonly string[]> {
  return await ledger.withDatabase(async ({ reader }) => {
    const moves = await reader
      .selectFrom('job_transitions')
      .select('event')
      .where('job_id', '=', job)
      .where('role', '=', 'clock')
      .execute()
    return moves.map(({ event }) => event)
  })
}

describe.skipIf(noFakedClock !== null)(`a clock that jumps${skipped}`, { timeout: 400_000 }, () => {
  test('all rails are polled before the clock jumps, and some have a changed status', async () => {
    await expect.poll(async () => (await rows()).polls.size, patience).toBe(railAdapters.length)
    const { transitions } = await rows()
    expect(transitions.length).toBeGreaterThan(0)
    expect(await signUp()).toMatchObject({ status: 201 })
    for (let sent = 0; sent < 5; sent += 1) expect(await feedback()).toMatchObject({ status: 201 })
    expect(await feedback()).toMatchObject({ status: 429, code: 'rate_limited' })
  })

  test.for([
    ['two hours forward', 2 * hourMs],
    ['back to where it was', 0],
    ['three hours back', -3 * hourMs],
    ['a year forward', 365 * 24 * hourMs],
    ['back from there', 0],
  ] as const)('the ledger keeps its rules if the clock jumps %s', async ([name, aheadMs]) => {
    const signedBefore = clock.now()
    const used = await receipt(`used ${name}`, signedBefore)
    const unused = await receipt(`unused ${name}`, signedBefore)
    expect(await sendReceipt(used)).toMatchObject({ status: 201 })
    const anHour = await postJob(hourMs)
    const before = await rows()
    const { snapshot_sha256: published } = await healthOf(url)

    const shown = clock.jumpTo(aheadMs)
    const isForward = shown > signedBefore
    // Signed before the jump, hours before or after the new time.
    expect(await sendReceipt(unused)).toMatchObject({ status: 401, code: 'signature_expired' })
    expect((await sendReceipt(used)).status).toBe(401)
    for (const [offMs, status] of [
      [-6 * minuteMs, 401],
      [-4 * minuteMs, 201],
      [4 * minuteMs, 201],
      [6 * minuteMs, 401],
    ] as const) {
      const body = await receipt(`${offMs} off ${name}`, clock.now() + offMs)
      expect([offMs, (await sendReceipt(body)).status]).toEqual([offMs, status])
    }
    // After a jump forward, the hour of the rate limit has passed.
    expect(await feedback()).toMatchObject({ status: isForward ? 201 : 429 })
    const aMoment = await postJob(2 * secondMs)

    if (isForward) {
      const log = async () => (await healthOf(url)).jobs['log']?.detail
      await expect.poll(log, patience).toContain('the clock jumped')
    } else {
      await expectPublished(published)
    }
    expect((await healthOf(url)).snapshot_age_s).toBeGreaterThanOrEqual(0)
    await expect.poll(async () => await endsByClock(aMoment), patience).toEqual(['expire'])
    expect(await endsByClock(anHour)).toEqual(isForward ? ['expire'] : [])
    const polled = async () => {
      const { polls } = await rows()
      return railAdapters.filter(({ rail }) => polls.get(rail) === before.polls.get(rail))
    }
    await expect.poll(polled, patience).toEqual([])

    const after = await rows()
    // However many minutes the jump has skipped.
    for (const [rail, polls] of after.polls) {
      // A second poll may have become due in between.
      const more = polls - (before.polls.get(rail) ?? 0)
      expect([rail, Math.min(more, 2)]).toEqual([rail, more])
    }
    expect(after.builds - before.builds).toBeLessThan(20)
    expect(after.used).toBeGreaterThanOrEqual(before.used)
    transitionsAfter.set(name, after.transitions)
  })

  test('each clock jump records its status changes: dormant a year ahead, and back again', () => {
    const [there, yearOn, back] = ['three hours back', 'a year forward', 'back from there'].map(
      (name) => transitionsAfter.get(name) ?? [],
    )
    expect(yearOn?.slice(there?.length).map(({ data }) => data['to'])).toContain('dormant')
    expect(back?.slice(yearOn?.length).map(({ data }) => data['from'])).toContain('dormant')
  })

  test('a used signature is never accepted again after a clock jump', async () => {
    const body = await signedBody(
      worker,
      'register',
      { skills: ['agent-news-reporting'] },
      { nowMs: clock.now() },
    )
    const register = async () => await post('/api/v1/workers/register', body)
    expect((await register()).status).toBe(201)
    await ledger.withDatabase(({ write }) =>
      write((tx) =>
        insertRecord(tx, 'network_disputes', { network: 'n', createdAt: isoTime(clock.now()) }),
      ),
    )
    const before = await rows()
    clock.jumpTo(3 * 24 * hourMs)
    expect(await register()).toMatchObject({ status: 401 })
    // The job that deletes these counts also deletes used messages.
    await expect
      .poll(async () => (await rows()).networkDisputes, patience)
      .toBeLessThan(before.networkDisputes)
    expect((await rows()).used).toBeGreaterThanOrEqual(before.used)
    clock.jumpTo(0)
    // It receives the first answer, and not a second registration.
    expect((await register()).status).toBe(200)
  })

  test('event times never go backwards when the clock does', async () => {
    const times = (await rows()).events.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...new Set(times)].toSorted())
    // Some happened after the jump back, and still follow events of the later year.
    expect(times.at(-1)?.slice(0, 4)).toBe('2027')
  })
})
