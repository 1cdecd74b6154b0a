/** Kills the compiled builder 49 times. Afterwards the published set, the database and the archive are intact. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { newestPublication } from '../../src/db/publications.ts'
import type { Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { installBoardProgram, publishedVersion, writeVersion } from './board.ts'
import { createClients } from './clients.ts'
import {
  builderPid,
  expectReads,
  healthOf,
  leftoversOf,
  linkOperations,
  newLedger,
  problemsOfSet,
  recordedEvents,
  servedSet,
  sound,
  stop,
  useProgram,
  withHooks,
} from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { firstPollMs, startRecordedSources } from './recorded-sources.ts'
import type { RecordedSources } from './recorded-sources.ts'

allowSlowTests('starts the compiled program')

const killHook = 'test/support/kill-hook.ts'
const pidHook = 'test/support/pid-hook.ts'
const timeoutMs = 480_000
const testClock = 'test/support/test-clock.ts'
/** Numbers of operations, counted from the row that publishes the new set. */
const killsAtRow = [-2, -1, 0, 1, 2, 500]
/** Operations from the rename to `current` on. */
const fromSwitch = 12
const kills = {
  firstBuild: 9,
  beforeRow: 4,
  whilePolling: 8,
  withService: 6,
} as const

const requestsBetweenKills = 4
const receiptsBetweenKills = 100

const program = useProgram(installBoardProgram)
let sources: RecordedSources
let hooked: Record<string, string>

beforeAll(async () => {
  sources = await startRecordedSources()
  hooked = withHooks(program, killHook)
})

afterAll(async () => {
  await sources.stop()
})

async function runBuild(
  ledger: Ledger,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly operations: number; readonly afterSwitch: number }> {
  const builder = ledger.builder(['--once'], { ...hooked, ...env })
  const code = await builder.ended
  if (code !== 0) throw new Error(`exit code ${code}:\n${builder.output()}`)
  const [, operations, after] =
    /operations: (\d+), after the switch: (\d+)/.exec(builder.output()) ?? []
  return { operations: Number(operations), afterSwitch: Number(after) }
}

async function expectIntact(ledger: Ledger): Promise<void> {
  const isShown = existsSync(join(ledger.publicDir, 'current'))
  if (isShown) expect(problemsOfSet(ledger)).toEqual([])
  if (existsSync(join(ledger.dataDir, 'ledger.db'))) {
    const store = await servedSet(ledger)
    const isPublished = store.state().manifest !== null
    expect(store.state().problem).toBe(isPublished ? null : 'nothing has been published yet')
    if (isShown) expect(isPublished).toBe(true)
    if (isPublished) expect(store.get('/api/v1/rails')).toBeDefined()
    const found = await ledger.withDatabase(async ({ reader }) => {
      const { rows } = await sql`pragma integrity_check`.execute(reader)
      return rows
    })
    expect(found).toEqual([{ integrity_check: 'ok' }])
  }
  expectIntactArchive(ledger)
}

async function newestIn(ledger: Ledger) {
  const newest = await ledger.withDatabase(({ reader }) => newestPublication(reader))
  if (newest === null) throw new Error('nothing has been published')
  return newest
}

async function loggedSnapshots(ledger: Ledger): Promise<ReadonlySet<string>> {
  return await ledger.withDatabase(async ({ reader }) => {
    const [queued, logged] = await Promise.all(
      (['log_queue', 'log_entries'] as const).map((table) =>
        reader.selectFrom(table).select('entry_id').where('kind', '=', 'snapshot').execute(),
      ),
    )
    return new Set([...(queued ?? []), ...(logged ?? [])].map(({ entry_id: id }) => id))
  })
}

function expectIntactArchive(ledger: Ledger): void {
  if (!existsSync(join(ledger.dataDir, 'snapshots.git'))) return
  ledger.git('fsck', '--full', '--strict', '--no-dangling')
}

/** Starts the service: it serves the version and reports no problem. */
async function expectServed(ledger: Ledger, version: number): Promise<void> {
  const { service, url } = await ledger.start()
  await service.says('"message":"serving"')
  const patience = { timeout: 60_000 }
  const rail = async (): Promise<unknown> => await (await fetch(`${url}/api/v1/rails/olas`)).json()
  await expect.poll(rail, patience).toMatchObject({ notes: `version ${version}` })
  await expect.poll(async () => await healthOf(url), patience).toMatchObject(sound)
  await stop(service)
}

function namesIn({ publicDir }: Ledger, name: string): readonly string[] {
  const path = join(publicDir, name)
  return existsSync(path) ? readdirSync(path) : []
}

/** The two directories of each leader. */
function linkedViews(ledger: Ledger): readonly string[] {
  const leaders = namesIn(ledger, 'views').filter((name) => !name.startsWith('old-'))
  return leaders.flatMap((name) => [`views/${name}/a`, `views/${name}/b`])
}

function linkedMs({ publicDir }: Ledger, view: string): number {
  return statSync(join(publicDir, view), { throwIfNoEntry: false })?.ctimeMs ?? 0
}

function grows(count: () => number) {
  return () => {
    const before = count()
    return () => count() > before
  }
}

async function readUntil(url: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) await expectReads(url)
}

async function killed(running: Running): Promise<void> {
  running.kill('SIGKILL')
  await running.ended
}

describe('a builder killed with SIGKILL', () => {
  it(
    'a builder killed in its first build does not hinder the next build',
    async () => {
      writeVersion(program, 1)
      const measured = newLedger(program, { POLL: 'off' })
      const { operations } = await runBuild(measured)
      measured.remove()
      let ledger = newLedger(program, { POLL: 'off' })
      for (let kill = 0; kill < kills.firstBuild; kill += 1) {
        // A new folder: with files of an earlier attempt the build might end before the kill.
        ledger.remove()
        ledger = newLedger(program, { POLL: 'off' })
        const at = 1 + Math.floor((kill * (operations - 1)) / kills.firstBuild)
        const builder = ledger.builder(['--once'], { ...hooked, KILL_AT: String(at) })
        expect(await builder.ended).toBeNull()
        await expectIntact(ledger)
        if (kill % 3 !== 2) continue
        await runBuild(ledger)
        await expectIntact(ledger)
      }
      await expectServed(ledger, 1)
      ledger.remove()
    },
    timeoutMs,
  )

  it(
    'a builder killed in a later build leaves the old set or the new one, whole',
    async () => {
      const ledger = newLedger(program, { POLL: 'off' })
      writeVersion(program, 1)
      await runBuild(ledger)
      writeVersion(program, 2)
      await runBuild(ledger)
      // Later builds also remove old links, so none has fewer operations than this one.
      writeVersion(program, 3)
      const { operations, afterSwitch } = await runBuild(ledger)
      const rowAt = operations - afterSwitch - linkOperations(ledger)
      const steps = [
        ...Array.from({ length: kills.beforeRow }, (_, at) => {
          return String(1 + Math.floor((at * rowAt) / kills.beforeRow))
        }),
        ...killsAtRow.map((at) => String(rowAt + at)),
        ...Array.from({ length: fromSwitch }, (_, at) => `+${at}`),
      ]
      const seen = new Set<string>()
      const manifests = new Set<string>()
      for (const [kill, at] of steps.entries()) {
        const version = 4 + kill
        writeVersion(program, version)
        const before = await publishedVersion(ledger)
        const builder = ledger.builder(['--once'], { ...hooked, KILL_AT: at })
        expect(await builder.ended).toBeNull()
        await expectIntact(ledger)
        const after = await publishedVersion(ledger)
        expect([before, version]).toContain(after)
        seen.add(after === version ? 'new' : 'old')
        manifests.add((await newestIn(ledger)).manifestSha256)
      }
      expect([...seen].toSorted()).toEqual(['new', 'old'])
      await runBuild(ledger)
      manifests.add((await newestIn(ledger)).manifestSha256)
      // Also those that were published just before a kill.
      const logged = await loggedSnapshots(ledger)
      expect([...manifests].filter((manifest) => !logged.has(manifest))).toEqual([])
      const last = 3 + steps.length
      expect(ledger.git('show', 'HEAD:api/v1/rails/olas.json')).toContain(`version ${last}`)
      await expectIntact(ledger)
      await expectServed(ledger, last)
      ledger.remove()
    },
    timeoutMs,
  )

  it(
    'a builder killed while it polls loses no recorded event and records none twice',
    async () => {
      const clock = { ...withHooks(program, testClock), TEST_CLOCK_MS: String(firstPollMs) }
      const ledger = newLedger(program, { ...sources.env, ...clock })
      for (let kill = 0; kill < kills.whilePolling; kill += 1) {
        const builder = ledger.builder(['--once'])
        const reached = sources.requests() + 1 + requestsBetweenKills * kill
        await expect.poll(sources.requests, { interval: 1 }).toBeGreaterThanOrEqual(reached)
        await killed(builder)
        await expectIntact(ledger)
      }
      const builder = ledger.builder(['--once'])
      expect(await builder.ended).toBe(0)
      await expectIntact(ledger)
      const events = await recordedEvents(ledger)
      // Seventeen status changes, seven flags of rails and six of pacts.
      expect(new Set(events).size).toBe(30)
      expect(events).toHaveLength(30)
      ledger.remove()
    },
    timeoutMs,
  )

  it(
    'a builder killed together with its service under load loses no acknowledged receipt',
    async () => {
      const ledger = newLedger(program, { POLL: 'off' })
      const clients = createClients()
      for (let kill = 0; kill < kills.withService; kill += 1) {
        writeVersion(program, kill + 1)
        const { service, url } = await ledger.start()
        await clients.retry(url)
        const posting = clients.post(url, Infinity)
        // From the first receipt on to the second build that contains them.
        const reached = clients.acknowledged() + 1 + receiptsBetweenKills * kill
        await expect.poll(clients.acknowledged, { interval: 1 }).toBeGreaterThanOrEqual(reached)
        await killed(service)
        expect((await posting).some(({ status }) => status === null)).toBe(true)
        await expectIntact(ledger)
        await clients.expectStored(ledger)
      }
      const { service, url } = await ledger.start()
      await clients.retry(url)
      const stored = await clients.expectStored(ledger)
      await stop(service)
      await expectServed(ledger, kills.withService)
      await expectIntact(ledger)
      process.stdout.write(
        `kills with the service: ${stored} receipts acknowledged, each stored once\n`,
      )
      ledger.remove()
    },
    timeoutMs,
  )

  it(
    'a builder killed while its service runs leaves a whole set, and all requests of clients succeed',
    async () => {
      const ledger = newLedger(program, { POLL: 'off' })
      const { service, url } = await ledger.start(withHooks(program, pidHook))
      await service.says('"message":"serving"')
      const clients = createClients()
      const load = { isOver: false }
      const posting = clients.post(url, Infinity, () => load.isOver)
      const reading = readUntil(url, () => load.isOver)
      const count = (name: string) => namesIn(ledger, name).length
      // In the order of the steps of a build.
      const stages = [
        () => () => leftoversOf(ledger).length > 0,
        grows(() => count('o')),
        grows(() => count('g')),
        // The links of a set that its row has made the current one: newer than those that are shown.
        () => () => {
          const shown = readlinkSync(join(ledger.publicDir, 'current'))
          return linkedViews(ledger).some(
            (view) => linkedMs(ledger, view) > linkedMs(ledger, shown),
          )
        },
      ]
      for (const stage of stages) {
        await expect.poll(stage(), { interval: 1 }).toBe(true)
        const builder = builderPid(service)
        process.kill(builder, 'SIGKILL')
        // Paused, so that it does not start the next builder.
        service.kill('SIGSTOP')
        await expectIntact(ledger)
        const { version } = await newestIn(ledger)
        service.kill('SIGCONT')
        await expect.poll(() => builderPid(service)).not.toBe(builder)
        await expect.poll(async () => (await newestIn(ledger)).version).toBeGreaterThan(version)
      }
      load.isOver = true
      const results = await posting
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set([201]))
      await reading
      const stored = await clients.expectStored(ledger)
      expect(stored).toBe(results.length)
      const list = async () => await (await fetch(`${url}/api/v1/receipts`)).text()
      await expect.poll(list).toContain(`"total":${stored}`)
      await stop(service)
      await expectIntact(ledger)
      process.stdout.write(
        `kills of the builder: ${stored} receipts acknowledged, each stored once\n`,
      )
      ledger.remove()
    },
    timeoutMs,
  )
})

/** Starts a builder as the service does, with an IPC channel. */
function forkBuilder(ledger: Ledger) {
  const env = { PATH: process.env['PATH'] ?? '', ...ledger.env }
  return fork(program.builder, [], { env, stdio: 'ignore' })
}

it('a builder whose service ended before its first build finishes the build and exits', async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const builder = forkBuilder(ledger)
  const ended = once(builder, 'exit')
  builder.disconnect()
  expect(await ended).toEqual([0, null])
  expect(problemsOfSet(ledger)).toEqual([])
  ledger.remove()
})

it('a builder that its service stops finishes its work and exits with code 0', async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const builder = forkBuilder(ledger)
  expect(await once(builder, 'message')).toEqual(['published', undefined])
  const ended = once(builder, 'exit')
  builder.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(problemsOfSet(ledger)).toEqual([])
  ledger.remove()
})
