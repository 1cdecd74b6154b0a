/** Another process has the write lock of the database, for less and for more than the timeout of a writer (5 s). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import { expectReads, healthOf, newLedger, stop, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import type { Running } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts the compiled program')

const program = useProgram(installBoardProgram)
let ledger: Ledger
let service: Running
let url: string
const clients = createClients(6)

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off' })
  expect(await ledger.builder(['--once']).ended).toBe(0)
  ;({ service, url } = await ledger.start({ BUILDER: 'off' }))
})
afterAll(async () => {
  await stop(service)
  ledger.remove()
})

async function lock(): Promise<() => Promise<void>> {
  const script = program.scriptOf('test/faults/database/lock-child.ts')
  const holder = spawn(process.execPath, [script, join(ledger.dataDir, 'ledger.db')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(holder, 'close')
  await once(holder.stdout, 'data')
  return async () => {
    holder.stdin.end()
    await ended
  }
}

describe('a database that another process has locked', () => {
  test('a database locked for three seconds delays writes and not reads', async () => {
    const free = await lock()
    const posting = clients.post(url, 3)
    await expectReads(url)
    await delay(3000)
    await free()
    const answers = await posting
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(await clients.expectStored(ledger)).toBe(answers.length)
  })

  test('a database locked for ten seconds refuses writes until it is released, and answers reads at once', async () => {
    const free = await lock()
    const heldUntil = delay(10_000)
    const answers = await clients.post(url, 1)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503))
    await expectReads(url)
    expect(await healthOf(url)).toMatchObject({ code: 503, database: 'failed' })
    expect(await clients.expectStored(ledger)).toBe(18)
    await heldUntil
    await free()
    await clients.retry(url)
    expect((await clients.post(url, 3)).every(({ status }) => status === 201)).toBe(true)
    expect(await clients.expectStored(ledger)).toBe(18 + answers.length + 18)
    await expect.poll(async () => (await healthOf(url)).code).toBe(200)
  })
})
