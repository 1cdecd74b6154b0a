import { expect, test } from 'vitest'

import type { Jobs } from '../../builder/jobs/create-jobs.ts'
import { runJob } from '../../builder/jobs/run-job.ts'
import { runForever } from '../../builder/jobs/schedule.ts'
import { lastRuns } from '../../src/db/runs.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import { quietLog } from '../support/quiet-log.ts'

async function runBuild(work: Parameters<typeof runJob>[2], signal = new AbortController().signal) {
  const database = await tempDatabase()
  const logged: string[] = []
  const error = (_message: string, fields?: object) => void logged.push(JSON.stringify(fields))
  const log = { ...quietLog, error }
  const succeeded = await runJob('build', { database, clock: handClock(), log, signal }, work)
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

test('a job that is stopped by the end of the builder is not a failure', async () => {
  const stop = new AbortController()
  const { succeeded, logged, recorded } = await runBuild(async () => {
    stop.abort(new Error('received SIGTERM'))
    return await Promise.reject(stop.signal.reason)
  }, stop.signal)
  expect({ succeeded, logged, recorded }).toEqual({
    succeeded: false,
    logged: [],
    recorded: undefined,
  })
})

test('a successful job that mentions a failure is recorded without directory names', async () => {
  const detail = "archive failed: fatal: not a git repository: '/srv/ledger/run/snapshots.git'"
  const { recorded } = await runBuild(async () => ({ detail, quiet: false }))
  expect(recorded?.detail).toBe("archive failed: fatal: not a git repository: 'snapshots.git'")
})

const nothing = async () => await Promise.resolve(true)
const idle: Jobs = {
  poll: nothing,
  build: nothing,
  buildIfRequested: async () => await Promise.resolve(),
  deliver: nothing,
  checkReceipts: nothing,
  checkPacts: nothing,
  expire: nothing,
  export: nothing,
  standings: nothing,
  statements: nothing,
  agents: nothing,
  tidy: async () => await Promise.resolve(),
  log: nothing,
  cosign: nothing,
}
const clock = { ...handClock(), sleep: untilAborted }

test('a builder that is stopped first finishes the build that its service requested', async () => {
  const stop = new AbortController()
  const [built, begun] = [gate(), gate()]
  const build: Jobs['build'] = async (when) => {
    if (when === 'now') return true
    begun.open()
    await built.opened
    return true
  }
  const requests: (() => void)[] = []
  let hasEnded = false
  const ended = runForever(
    { ...idle, build },
    {
      clock,
      log: quietLog,
      signal: stop.signal,
      polls: false,
      onRequest: (request) => void requests.push(request),
    },
  ).then(() => (hasEnded = true))
  requests[0]?.()
  await begun.opened
  stop.abort()
  await new Promise((resolve) => setImmediate(resolve))
  expect(hasEnded).toBe(false)
  built.open()
  await ended
})

test('a rail that is not finished is polled again at once, with a build in between', async () => {
  const stop = new AbortController()
  const calls: string[] = []
  const polls = ['unfinished', 'unfinished', true] as const
  const jobs: Jobs = {
    ...idle,
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
  }
  const onRequest = () => undefined
  await runForever(jobs, { clock, log: quietLog, signal: stop.signal, polls: true, onRequest })
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
