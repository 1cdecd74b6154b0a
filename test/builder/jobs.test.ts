import { beforeEach, expect, test } from 'vitest'

import { runJob } from '../../builder/jobs/run-job.ts'
import { lastRuns } from '../../src/db/runs.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'

const silent = () => undefined
const logged: string[] = []
const log = {
  debug: silent,
  info: silent,
  warn: silent,
  error: (_message: string, fields?: object) => void logged.push(JSON.stringify(fields)),
}

beforeEach(() => void logged.splice(0))

test('a failed job is recorded without directory names, which are logged', async () => {
  const deps = { database: await tempDatabase(), clock: handClock(), log }
  const went = await runJob('build', deps, {}, async () => {
    throw new Error('The published set /srv/ledger/public/current cannot be read back')
  })
  expect(went).toBe(false)
  expect((await lastRuns(deps.database.reader)).get('build')).toMatchObject({
    outcome: 'failed',
    detail: 'The published set current cannot be read back',
  })
  expect(logged.join()).toContain('/srv/ledger/public/current')
})

test('a successful job that mentions a failure is recorded without directory names', async () => {
  const deps = { database: await tempDatabase(), clock: handClock(), log }
  const detail = "archive failed: fatal: not a git repository: '/srv/ledger/run/snapshots.git'"
  await runJob('build', deps, {}, async () => ({ detail, quiet: false }))
  expect((await lastRuns(deps.database.reader)).get('build')?.detail).toBe(
    "archive failed: fatal: not a git repository: 'snapshots.git'",
  )
})
