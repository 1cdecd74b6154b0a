/** A disk fails under a builder that publishes. The next build after the fault publishes the delayed documents. */
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import {
  builderPid,
  healthOf,
  leftoversOf,
  newLedger,
  problemsOfSet,
  sound,
  useProgram,
  withHooks,
} from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import type { Running } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { inject, noInjection } from './inject.ts'

allowSlowTests('starts the compiled program')

const pidHook = 'test/support/pid-hook.ts'
/** Names have the fence of the first lease. */
const draft = 'drafts/1/0'
const views = ['views/1/a', 'views/1/b']
const leaderboards = views.map((view) => `${view}/api/v1/leaderboard.json`)

/** Name, system call, error, paths below PUBLIC_DIR, and the set that is served after the fault. */
const publishing = [
  ['has no space for a document', 'write', 'ENOSPC', [draft], 'old'],
  ['cannot flush a document', 'fsync', 'EIO', [draft], 'old'],
  ['cannot name a document', 'rename', 'EIO', [draft], 'old'],
  ['cannot flush the folder of documents', 'fsync', 'EIO', ['o'], 'old'],
  ['cannot flush the folder of manifests', 'fsync', 'EIO', ['g'], 'old'],
  ['cannot link a document', 'link', 'EIO', leaderboards, 'new'],
  ['cannot flush the links', 'fsync', 'EIO', views, 'new'],
  ['cannot switch the link', 'rename', 'EROFS', ['views/1/next'], 'new'],
  ['cannot flush the switch', 'fsync', 'EIO', [''], 'new'],
] as const

const containing = (text: string): unknown => expect.stringContaining(text)

const program = useProgram(installBoardProgram)
let ledger: Ledger
let service: Running
let url: string
const clients = createClients(2)

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off' })
  ;({ service, url } = await ledger.start(withHooks(program, pidHook)))
  await service.says('"message":"serving"')
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.ended
  ledger.remove()
})

/**
 * Waits for builds that earlier receipts requested: they could publish after the fault. The service shows a set from its
 * row on, plain web servers from the later switch on.
 */
async function waitUntilPublished(): Promise<void> {
  const total = `"total":${await clients.expectStored(ledger)}`
  const list = async () => await (await fetch(`${url}/api/v1/receipts`)).text()
  await expect.poll(list).toContain(total)
  await expect.poll(async () => await healthOf(url)).toMatchObject(sound)
  const served = async () => (await healthOf(url)).snapshot_sha256
  await expect.poll(async () => (await served()) === ledger.manifest().set_sha256).toBe(true)
}

const skipped = noInjection === null ? '' : ` (left out: ${noInjection})`

describe.skipIf(noInjection !== null)(`a builder on a failing disk${skipped}`, () => {
  test.for(publishing)(
    'a builder that %s leaves a whole set, and publishes again once the disk works',
    async ([_name, calls, error, paths, serves], { onTestFinished }) => {
      await waitUntilPublished()
      const before = ledger.manifest().set_sha256
      const fault = await inject(builderPid(service), {
        calls,
        does: `error=${error}`,
        paths: paths.map((path) => join(ledger.publicDir, path)),
      })
      onTestFinished(async () => void (await fault.heal()))
      await clients.post(url, 2)
      await expect
        .poll(async () => await healthOf(url))
        .toMatchObject({
          status: 'degraded',
          problems: ['the last run of the job build failed'],
          jobs: { build: { outcome: 'failed', detail: containing(error) } },
        })
      expect(problemsOfSet(ledger)).toEqual([])
      const served = async () => ((await healthOf(url)).snapshot_sha256 === before ? 'old' : 'new')
      await expect.poll(served).toBe(serves)
      // A reader cannot see that the switch is not flushed.
      if (paths[0] !== '') expect(ledger.manifest().set_sha256).toBe(before)
      expect((await fetch(`${url}/api/v1/rails`)).status).toBe(200)
      expect(await fault.heal()).toBeGreaterThan(0)

      await clients.post(url, 1)
      await waitUntilPublished()
      expect(ledger.manifest().set_sha256).not.toBe(before)
      expect(problemsOfSet(ledger)).toEqual([])
      await expect.poll(() => leftoversOf(ledger)).toEqual([])
    },
  )

  test('a builder without room for its own rows publishes nothing until there is room', async ({
    onTestFinished,
  }) => {
    await waitUntilPublished()
    const builder = builderPid(service)
    const before = ledger.manifest().set_sha256
    const paths = [join(ledger.dataDir, 'ledger.db-wal')]
    const fault = await inject(builder, { calls: 'pwrite64', does: 'error=ENOSPC', paths })
    onTestFinished(async () => void (await fault.heal()))
    await clients.post(url, 1)
    await service.says('the run of job build could not be written')
    expect(await fault.heal()).toBeGreaterThan(0)
    expect(ledger.manifest().set_sha256).toBe(before)
    await clients.post(url, 1)
    await waitUntilPublished()
    expect(ledger.manifest().set_sha256).not.toBe(before)
    expect(problemsOfSet(ledger)).toEqual([])
    expect(builderPid(service)).toBe(builder)
  })

  test('a builder with a failing flush of its own rows exits, and the next builder continues', async ({
    onTestFinished,
  }) => {
    await expect.poll(async () => await healthOf(url)).toMatchObject(sound)
    const builder = builderPid(service)
    const paths = [join(ledger.dataDir, 'ledger.db-wal')]
    const fault = await inject(builder, { calls: 'fsync,fdatasync', does: 'error=EIO', paths })
    onTestFinished(async () => void (await fault.heal()))
    await clients.post(url, 1)
    await service.says('the database has failed: stopping the builder')
    await expect.poll(() => builderPid(service)).not.toBe(builder)
    expect(await fault.heal()).toBeGreaterThan(0)
    const before = ledger.manifest().set_sha256
    await expect.poll(async () => await healthOf(url)).toMatchObject(sound)
    await clients.post(url, 1)
    await expect.poll(async () => (await healthOf(url)).snapshot_sha256).not.toBe(before)
    await waitUntilPublished()
    expect(problemsOfSet(ledger)).toEqual([])
  })
})
