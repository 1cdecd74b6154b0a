import { expect, test } from 'vitest'

import type { Jobs } from '../../builder/jobs/jobs.ts'
import { runJob } from '../../builder/jobs/run-job.ts'
import { runForever } from '../../builder/jobs/schedule.ts'
import { lastRuns } from '../../src/db/runs.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import { quietLog } from '../support/quiet-log.ts'

async function runBuild(work: Parameters<typeof runJob>[2]) {
  const database = await tempDatabase()
  const logged: string[] = []
  const error = (_message: string, fields?: object) => void logged.push(JSON.stringify(fields))
  const log = { ...quietLog, error }
  const succeeded = await runJob('build', { database, clock: handClock(), log }, work)
  return { succeeded, logged, recorded: (await lastRuns(database.reader)).get('build') }
}

test('a failed job is recorded without directory names, which are logged', async () => {
  const { succeeded, logged, recorded } = await runBuild(async () => {
    throw new Error('The published set /srv/ledger/public/current cannot be read back')
  })
  expect(succeeded).toBe(false)
  expect(recorded).toMatchObject({
    outcome: 'failed',
    detail: 'The published set current cannot be read back',
  })
  expect(logged.join()).toContain('/srv/ledger/public/current')
})

test('a successful job that mentions a failure is recorded without directory names', async () => {
  const detail = "archive failed: fatal: not a git repository: '/srv/ledger/run/snapshots.git'"
  const { recorded } = await runBuild(async () => ({ detail, quiet: false }))
  expect(recorded?.detail).toBe("archive failed: fatal: not a git repository: 'snapshots.git'")
})

test('a rail that is not finished is polled again at once, with a build in between', async () => {
  const stop = new AbortController()
  const calls: string[] = []
  const nothing = async () => await Promise.resolve(true)
  const polls = ['unfinished', 'unfinished', true] as const
  const jobs: Jobs = {
    poll: async () => {
      const result = polls[calls.filter((call) => call === 'poll').length] ?? true
      calls.push('poll')
      return await Promise.resolve(result)
    },
    build: async (when) => {
      calls.push(`build ${when}`)
      if (calls.filter((call) => call === 'poll').length >= polls.length) stop.abort()
      return await Promise.resolve(true)
    },
    buildIfRequested: async () => await Promise.resolve(),
    deliver: nothing,
    checkReceipts: nothing,
    checkPacts: nothing,
    expire: nothing,
    standings: nothing,
    tidy: async () => await Promise.resolve(),
    log: nothing,
    cosign: nothing,
  }
  const clock = { ...handClock(), sleep: untilAborted }
  await runForever(jobs, { clock, log: quietLog, signal: stop.signal, polls: true })
  const polled = calls.flatMap((call, at) => (call === 'poll' ? [at] : []))
  // The schedule may add one.
  expect(polled.length).toBeGreaterThanOrEqual(polls.length)
  for (const at of polled) expect(calls[at + 1]).toBe('build if changed')
})

async function untilAborted(_delayMs: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { once: true })
    if (signal?.aborted !== false) resolve()
  })
}
