/** Concurrent builders on one ledger, and a service with a builder. */
import { existsSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import { installBoardProgram, publishedVersion, writeVersion } from './board.ts'
import {
  builderPid,
  healthOf,
  leftoversOf,
  linkOperations,
  newLedger,
  problemsOfSet,
  recordedEvents,
  servedSet,
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
const killHook = 'test/support/kill-hook.ts'
const refused = 'another builder works on this ledger'
/** Shares of the operations before the row of the set; the first ones come before the lease. */
const earlyPauses = [0.25, 0.5, 0.75]
/**
 * Numbers of file operations, counted from the rename to `current` and from the row of the set. The first one is exact,
 * since a build that continues another has a few more or fewer.
 */
const pausesAtSwitch = [1, 2, 0, -1, -2, 5, 10, -500]
const pausesAtRow = [-2, -1, 0, 1, 3]
const timeoutMs = 480_000

const program = useProgram(installBoardProgram)
let sources: RecordedSources

beforeAll(async () => {
  sources = await startRecordedSources()
})

afterAll(async () => {
  await sources.stop()
})

async function expectSound(ledger: Ledger): Promise<void> {
  expect(problemsOfSet(ledger)).toEqual([])
  expect((await servedSet(ledger)).state().problem).toBeNull()
  expect(leftoversOf(ledger)).toEqual([])
  ledger.git('fsck', '--full', '--strict', '--no-dangling')
}

describe('two builders on one ledger', () => {
  it('two builders poll and build at the same time without recording an event twice', async () => {
    const clock = { ...withHooks(program, testClock), TEST_CLOCK_MS: String(firstPollMs) }
    const ledger = newLedger(program, { ...sources.env, ...clock })
    const builders = [ledger.builder(['--once']), ledger.builder(['--once'])]
    const codes = await Promise.all(builders.map(async ({ ended }) => await ended))
    for (const [at, builder] of builders.entries()) {
      // A builder that finds the lease held exits and says so.
      if (codes[at] !== 0) expect(builder.output()).toContain(refused)
    }
    expect(codes).toContain(0)
    const last = ledger.builder(['--once'], { POLL: 'off' })
    expect(await last.ended).toBe(0)
    await expectSound(ledger)
    const events = await recordedEvents(ledger)
    expect(events).toHaveLength(30)
    expect(new Set(events).size).toBe(30)
    ledger.remove()
  })

  it('a second builder does not wait: it says that another works, and records nothing', async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const holder = ledger.builder(['--once'], withHooks(program, lockHook))
    await holder.says('publishing is blocked')
    const other = ledger.builder(['--once'])
    expect(await other.ended).toBe(1)
    expect(other.output()).toContain(refused)
    const builds = await ledger.withDatabase(async ({ reader }) => {
      return await reader.selectFrom('job_runs').select('id').where('job', '=', 'build').execute()
    })
    expect(builds).toEqual([])
    holder.kill('SIGKILL')
    await holder.ended
    // The lease of a dead process of the same machine is free.
    const next = ledger.builder(['--once'])
    expect(await next.ended).toBe(0)
    await expectSound(ledger)
    ledger.remove()
  })

  it('a builder waits in standby and takes over from a leader that was killed or paused', async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const startNext = async () => {
      const builder = ledger.builder([])
      await builder.says('standing by')
      return builder
    }
    const killed = ledger.builder([])
    await killed.says('"message":"published"')
    const paused = await startNext()
    killed.kill('SIGKILL')
    await paused.says('the builder leads')
    const last = await startNext()
    paused.kill('SIGSTOP')
    await last.says('the builder leads')
    paused.kill('SIGCONT')
    expect(await paused.ended).toBe(1)
    expect(paused.output()).toContain('has taken the lease builder')
    await stop(last)
    await expectSound(ledger)
    ledger.remove()
  })

  it(
    'a builder paused at any step publishes nothing after another has published',
    async () => {
      const ledger = newLedger(program, { POLL: 'off' })
      const { NODE_OPTIONS } = withHooks(program, killHook)
      const buildOnce = async (env: Readonly<Record<string, string>> = {}) => {
        const builder = ledger.builder(['--once'], env)
        expect(await builder.ended, builder.output()).toBe(0)
        return builder.output()
      }
      await buildOnce()
      writeVersion(program, 0)
      await buildOnce()
      writeVersion(program, 1)
      const counted = /operations: (\d+), after the switch: (\d+)/.exec(
        await buildOnce({ NODE_OPTIONS }),
      )
      const switchAt = Number(counted?.[1]) - Number(counted?.[2])
      const rowAt = switchAt - linkOperations(ledger)
      const steps = [
        ...pausesAtSwitch.map((at) => switchAt + at),
        ...pausesAtRow.map((at) => rowAt + at),
        ...earlyPauses.map((share) => Math.floor(share * rowAt)),
      ]
      const linked = () => readlinkSync(join(ledger.publicDir, 'current'))
      const reached = new Set<string>()
      let version = 2
      for (const at of steps) {
        const linkedBefore = linked()
        writeVersion(program, version)
        const paused = ledger.builder(['--once'], { NODE_OPTIONS, PAUSE_AT: String(at) })
        await paused.says('paused')
        const hasRow = (await publishedVersion(ledger)) === version
        reached.add(linked() !== linkedBefore ? 'switch' : hasRow ? 'row' : 'start')
        // As if the lease had ended in between.
        await ledger.withDatabase(async ({ write }) => {
          await write((tx) => tx.updateTable('leases').set({ until: 0 }).execute())
        })
        writeVersion(program, version + 1)
        await buildOnce()
        const { set_sha256: published } = ledger.manifest()
        expect(await publishedVersion(ledger)).toBe(version + 1)
        paused.kill('SIGCONT')
        expect(await paused.ended, `pause at ${at}\n${paused.output()}`).toBe(1)
        expect(existsSync(join(ledger.publicDir, 'current/')), `pause at ${at}: current`).toBe(true)
        expect(ledger.manifest().set_sha256, `pause at ${at}`).toBe(published)
        expect(problemsOfSet(ledger), `pause at ${at}`).toEqual([])
        expect(await publishedVersion(ledger), `pause at ${at}`).toBe(version + 1)
        version += 2
      }
      expect([...reached].toSorted()).toEqual(['row', 'start', 'switch'])
      writeVersion(program, version)
      await buildOnce()
      await expectSound(ledger)
      ledger.remove()
    },
    timeoutMs,
  )
})

describe('a service and its builder', () => {
  it('a service restarts its builder when it dies, with a degraded health until then', async () => {
    const ledger = newLedger(program, { POLL: 'off', ...withHooks(program, pidHook) })
    const { service, url } = await ledger.start()
    await service.says('"message":"serving"')
    process.kill(builderPid(service), 'SIGKILL')
    await expect
      .poll(async () => await healthOf(url), { interval: 50, timeout: 60_000 })
      .toMatchObject({
        status: 'degraded',
        problems: [expect.stringMatching(/^the builder exited \(SIGKILL\); it restarts in 1 s$/)],
      })
    expect((await fetch(`${url}/api/v1/rails`)).status).toBe(200)
    await expect
      .poll(async () => await healthOf(url), { interval: 50, timeout: 60_000 })
      .toMatchObject({ status: 'ok', problems: [] })
    await stop(service)
    await expectSound(ledger)
    ledger.remove()
  })

  it('a service serves what another builder process publishes, within the watch interval', async () => {
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
