import { expect, test } from 'vitest'

import { hourMs, isoTime } from '../../../src/core/time.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { expireJobs } from '../../../src/db/jobs/deadlines.ts'
import { findJob, insertJob, transitionJob } from '../../../src/db/jobs/jobs.ts'
import type { JobTransition } from '../../../src/db/jobs/jobs.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { expectAppendOnly, tempDatabase } from '../temp-database.ts'

const nowMs = Date.UTC(2026, 10, 21)
const now = isoTime(nowMs)
const poster = parseWallet('0x52908400098527886E0F7030069857D2E4169EE7')

async function post(database: OpenDatabase, count: number): Promise<void> {
  await database.write(async (tx) => {
    for (let at = 0; at < count; at += 1) {
      await insertJob(tx, {
        id: `job-${at}`,
        poster,
        title: `Job ${at}`,
        description: 'Work.',
        skills: ['one', 'two'],
        budgetMicroUsdc: at,
        deadlineMs: nowMs + hourMs + at,
        now,
      })
    }
  })
}

const award = {
  event: 'award',
  role: 'poster',
  actor: poster.id,
  statusAfter: 'awarded',
  note: null,
  createdAt: now,
} as const satisfies JobTransition

test('one expiry run expires hundreds of overdue jobs and no others', async () => {
  const database = await tempDatabase()
  await post(database, 402)
  expect(await expireJobs(database, nowMs + hourMs - 1)).toBe(0)
  expect(await expireJobs(database, nowMs + hourMs + 400)).toBe(401)
  const left = await database.reader
    .selectFrom('jobs')
    .select('id')
    .where('status', '=', 'open')
    .execute()
  expect(left).toEqual([{ id: 'job-401' }])
})

test('two concurrent expiry runs write each expiry once', async () => {
  const database = await tempDatabase()
  await post(database, 250)
  const atMs = nowMs + 2 * hourMs
  const counts = await Promise.all([expireJobs(database, atMs), expireJobs(database, atMs)])
  expect(counts[0] + counts[1]).toBe(250)
  const moves = await database.reader
    .selectFrom('job_transitions')
    .select('job_id')
    .where('event', '=', 'expire')
    .execute()
  expect(new Set(moves.map((move) => move.job_id)).size).toBe(250)
  expect(moves).toHaveLength(250)
})

test('a job whose status has changed makes no transition and stores none', async () => {
  const database = await tempDatabase()
  await post(database, 1)
  const seen = { id: 'job-0', status: 'open' } as const
  expect(await database.write((tx) => transitionJob(tx, seen, award))).toBe(true)
  expect(await database.write((tx) => transitionJob(tx, seen, award))).toBe(false)
  const moves = await database.reader.selectFrom('job_transitions').select('event').execute()
  expect(moves.map(({ event }) => event)).toEqual(['post', 'award'])
  expect((await findJob(database.reader, 'job-0'))?.status).toBe('awarded')
})

test('job transitions can be neither changed nor deleted', async () => {
  const database = await tempDatabase()
  await post(database, 1)
  await expectAppendOnly(database, 'job_transitions')
})
