/** Concurrent builders on one ledger, and a service with a builder. */
import { readdirSync } from 'node:fs'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import {
  builderPid,
  healthOf,
  newLedger,
  problemsOfSet,
  recordedEvents,
  stop,
  useProgram,
  withHooks,
} from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { firstPollMs, startRecordedSources } from './recorded-sources.ts'
import type { RecordedSources } from './recorded-sources.ts'

allowSlowTests('starts the compiled program')

const testClock = 'test/support/test-clock.ts'
const pidHook = 'test/support/pid-hook.ts'
const lockHook = 'test/support/lock-hook.ts'

const program = useProgram()
let sources: RecordedSources

beforeAll(async () => {
  sources = await startRecordedSources()
})

afterAll(async () => {
  await sources.stop()
})

async function expectSound(ledger: Ledger): Promise<void> {
  expect(problemsOfSet(ledger)).toEqual([])
  expect(readdirSync(ledger.publicDir).toSorted()).toEqual(['current', 'evidence', 'generations'])
  ledger.git('fsck', '--full', '--strict', '--no-dangling')
}

describe('two builders on one ledger', () => {
  it('poll and build at the same time without recording an event twice', async () => {
    const clock = { ...withHooks(program, testClock), TEST_CLOCK_MS: String(firstPollMs) }
    const ledger = newLedger(program, { ...sources.env, ...clock })
    const builders = [ledger.builder(['--once']), ledger.builder(['--once'])]
    const codes = await Promise.all(builders.map(async ({ ended }) => await ended))
    for (const [at, builder] of builders.entries()) {
      // A builder that finds the lock held exits and says so.
      if (codes[at] !== 0) expect(builder.output()).toMatch(/is locked by another process/)
    }
    expect(codes).toContain(0)
    const last = ledger.builder(['--once'], { POLL: 'off' })
    expect(await last.ended).toBe(0)
    await expectSound(ledger)
    const events = await recordedEvents(ledger)
    expect(events).toHaveLength(27)
    expect(new Set(events).size).toBe(27)
    ledger.remove()
  })

  it('do not wait for each other: the second one reports who holds the lock', async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const holder = ledger.builder(['--once'], withHooks(program, lockHook))
    await holder.says('publishing is blocked')
    const other = ledger.builder(['--once'])
    expect(await other.ended).toBe(1)
    expect(other.output()).toContain('is locked by another process')
    const runs = await ledger.withDatabase(async ({ reader }) => {
      return await reader
        .selectFrom('job_runs')
        .select(['job', 'outcome', 'detail'])
        .where('job', '=', 'build')
        .execute()
    })
    expect(runs).toMatchObject([{ job: 'build', outcome: 'failed' }])
    expect(runs[0]?.detail).toContain('is locked by another process')
    holder.kill('SIGKILL')
    await holder.ended
    // The lock of a dead process is free.
    const next = ledger.builder(['--once'])
    expect(await next.ended).toBe(0)
    await expectSound(ledger)
    ledger.remove()
  })
})

describe('a service and its builder', () => {
  it('restart the builder when it dies, with a degraded health until then', async () => {
    const ledger = newLedger(program, { POLL: 'off', ...withHooks(program, pidHook) })
    const { service, url } = await ledger.start()
    await service.says('"message":"serving"')
    process.kill(builderPid(service), 'SIGKILL')
    await expect
      .poll(async () => await healthOf(url), { interval: 50, timeout: 60_000 })
      .toMatchObject({
        status: 'degraded',
        problems: [
          expect.stringMatching(/^the builder ended \(SIGKILL\); it starts again in 1 s$/),
        ],
      })
    expect((await fetch(`${url}/api/v1/rails`)).status).toBe(200)
    await expect
      .poll(async () => await healthOf(url), { interval: 50, timeout: 60_000 })
      .toMatchObject({ status: 'ok', problems: [] })
    await stop(service)
    await expectSound(ledger)
    ledger.remove()
  })

  it('serve what another builder process publishes, within the watch interval', async () => {
    const clock = { ...withHooks(program, testClock), TEST_CLOCK_MS: String(firstPollMs) }
    const ledger = newLedger(program, { ...sources.env })
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect((await fetch(`${url}/api/v1/rails`)).status).toBe(503)
    expect(await healthOf(url)).toMatchObject({
      status: 'degraded',
      problems: ['nothing has been published yet'],
    })
    const first = ledger.builder(['--once'], { ...clock, POLL: 'off' })
    expect(await first.ended).toBe(0)
    const served = async () => (await healthOf(url)).snapshot_sha256
    // The service checks once a second.
    await expect.poll(served, { timeout: 60_000 }).toBe(ledger.manifest().set_sha256)
    const second = ledger.builder(['--once'], clock)
    expect(await second.ended).toBe(0)
    await expect.poll(served, { timeout: 60_000 }).toBe(ledger.manifest().set_sha256)
    const rail: unknown = await (await fetch(`${url}/api/v1/rails/olas`)).json()
    expect(rail).toMatchObject({ status: 'paying', tpv_30d_usdc: 75 })
    expect(await healthOf(url)).toMatchObject({ status: 'ok', problems: [] })
    await stop(service)
    ledger.remove()
  })
})
