/** A disk fails under the compiled service while eight clients post receipts. Acknowledged receipts are stored once. */
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import { expectReads, newLedger, stop, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { inject, noInjection } from './inject.ts'

allowSlowTests('starts the compiled program')

const wal = ['ledger.db-wal'] as const
const everyFile = ['ledger.db', 'ledger.db-wal'] as const
const flush = 'fsync,fdatasync'

/** Name, system calls, effect, files, whether the service ends, whether it refuses writes. */
const faults = [
  ['every flush fails', flush, 'error=EIO', wal, true, true],
  ['one flush fails', flush, 'error=EIO:when=3', wal, true, true],
  ['a write fails', 'pwrite64', 'error=EIO:when=20', wal, true, true],
  ['every read fails', 'pread64', 'error=EIO', everyFile, true, true],
  ['some writes find no space', 'pwrite64', 'error=ENOSPC:when=9..40+3', wal, false, true],
  ['every write finds no space', 'pwrite64', 'error=ENOSPC', wal, false, true],
  ['flushes are slow', flush, 'delay_exit=150000', wal, false, false],
] as const

const program = useProgram(installBoardProgram)
let ledger: Ledger

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off' })
  expect(await ledger.builder(['--once']).ended).toBe(0)
})
afterAll(() => {
  ledger.remove()
})

const skipped = noInjection === null ? '' : ` (left out: ${noInjection})`

describe.skipIf(noInjection !== null)(`a failing disk under the service${skipped}`, () => {
  const clients = createClients()

  test.for(faults)('keeps receipts although %s', async ([, calls, does, files, ends, refuses]) => {
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    const calm = await clients.post(url, 4)
    expect(calm.every(({ status }) => status === 201)).toBe(true)

    const paths = files.map((file) => join(ledger.dataDir, file))
    const fault = await inject(service.pid, { calls, does, paths })
    // The list uses a separate connection. A flush in the background may already have ended the service.
    const reads = ends && calls !== 'pread64' ? [] : ['?rail=x402', `/${calm[0]?.receiptId}`]
    for (const read of reads) {
      const answer = await fetch(`${url}/api/v1/receipts${read}`)
      expect(answer.status).toBe(calls === 'pread64' ? 503 : 200)
    }
    const answers = await clients.post(url, 12)
    expect(answers.some(({ receiptId }) => receiptId === null)).toBe(refuses)
    if (ends) {
      expect(await service.ended).toBe(1)
      expect(service.output()).toMatch(/"level":"error","message":"the database has failed/)
      expect(await fault.heal()).toBeGreaterThan(0)
    } else {
      await expectReads(url)
      expect(await fault.heal()).toBeGreaterThan(0)
      await clients.retry(url)
      await stop(service)
    }

    const next = await ledger.start({ BUILDER: 'off' })
    await expectReads(next.url)
    await clients.retry(next.url)
    const stored = await clients.expectStored(ledger)
    expect(stored).toBeGreaterThan(calm.length)
    await stop(next.service)
  })
})
