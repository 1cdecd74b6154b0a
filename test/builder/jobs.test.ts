import { expect, test } from 'vitest'

import { runJob } from '../../builder/jobs/run-job.ts'
import { lastRuns } from '../../src/db/runs.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import { quietLog } from '../support/quiet-log.ts'

async function runBuild(work: Parameters<typeof runJob>[3]) {
  const database = await tempDatabase()
  const logged: string[] = []
  const error = (_message: string, fields?: object) => void logged.push(JSON.stringify(fields))
  const log = { ...quietLog, error }
  const succeeded = await runJob('build', { database, clock: handClock(), log }, {}, work)
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
