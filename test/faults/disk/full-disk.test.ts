/** A full file system under the database, and one under the published files. */
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import {
  expectReads,
  healthOf,
  newLedger,
  problemsOfSet,
  sound,
  stop,
  useProgram,
} from '../../e2e/ledger.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { mountSmallDisk, noMount } from './small-disk.ts'

allowSlowTests('starts the compiled program')

const failedBuild: unknown = expect.arrayContaining(['the last run of the job build failed'])
const containing = (text: string): unknown => expect.stringContaining(text)

const program = useProgram(installBoardProgram)

const skipped = noMount === null ? '' : ` (left out, no file system can be mounted: ${noMount})`

describe.skipIf(noMount !== null)(`a file system that is full${skipped}`, () => {
  test('a full disk under the database refuses writes, keeps acknowledged ones and serves reads', async () => {
    const disk = mountSmallDisk('16m')
    const ledger = newLedger(program, { POLL: 'off' }, { dataDir: join(disk.dir, 'data') })
    const builder = ledger.builder(['--once'])
    expect(await builder.ended, builder.output()).toBe(0)
    const clients = createClients()
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect((await clients.post(url, 4)).every(({ status }) => status === 201)).toBe(true)

    disk.fill(64 * 1024)
    const answers = await clients.post(url, 12)
    expect(answers.some(({ status }) => status === 503)).toBe(true)
    // At once: the refused writes count, not only the next probe.
    for (const path of ['/api/v1/health', '/readyz']) {
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 503])
    }
    await expectReads(url)
    await stop(service)

    // A service that starts on a full disk serves everything that was stored.
    const { service: next, url: nextUrl } = await ledger.start({ BUILDER: 'off' })
    await expectReads(nextUrl)
    disk.free()
    await clients.retry(nextUrl)
    expect((await clients.post(nextUrl, 4)).every(({ status }) => status === 201)).toBe(true)
    expect(await clients.expectStored(ledger)).toBe(8 * 4 + answers.length + 8 * 4)
    await expect.poll(async () => await healthOf(nextUrl)).toMatchObject(sound)
    expect((await fetch(`${nextUrl}/readyz`)).status).toBe(200)
    await stop(next)
    ledger.remove()
    disk.remove()
  })

  test('a full disk under the published files serves the old set whole until there is space', async () => {
    const disk = mountSmallDisk('48m')
    const ledger = newLedger(program, { POLL: 'off' }, { publicDir: join(disk.dir, 'public') })
    const { service, url } = await ledger.start()
    await service.says('"message":"serving"')
    await expect.poll(async () => await healthOf(url)).toMatchObject(sound)
    const before = ledger.manifest().set_sha256
    const clients = createClients(2)
    disk.fill(16 * 1024)
    expect((await clients.post(url, 3)).every(({ status }) => status === 201)).toBe(true)
    await expect
      .poll(async () => await healthOf(url))
      .toMatchObject({
        code: 200,
        status: 'degraded',
        // The few bytes of the log may still find space.
        problems: failedBuild,
        jobs: { build: { detail: containing('ENOSPC') } },
        snapshot_sha256: before,
      })
    expect(ledger.manifest().set_sha256).toBe(before)
    expect(problemsOfSet(ledger)).toEqual([])
    disk.free()
    expect((await clients.post(url, 1)).every(({ status }) => status === 201)).toBe(true)
    const total = `"total":${await clients.expectStored(ledger)}`
    const list = async () => await (await fetch(`${url}/api/v1/receipts`)).text()
    await expect.poll(list).toContain(total)
    await expect.poll(async () => await healthOf(url)).toMatchObject(sound)
    expect(ledger.manifest().set_sha256).not.toBe(before)
    expect(problemsOfSet(ledger)).toEqual([])
    await stop(service)
    ledger.remove()
    disk.remove()
  })
})
