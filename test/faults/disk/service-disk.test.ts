/**
 * A disk that fails under the compiled service while eight clients post receipts, one fault after the other on one
 * ledger: what is acknowledged stays, once; what is not is refused in words and can be sent again; reads never stop.
 */
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import { addressOf, newLedger, stop, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import type { Running } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { inject, noInjection } from './inject.ts'

allowSlowTests('starts the compiled program')

interface DiskFault {
  readonly name: string
  readonly calls: string
  readonly does: string
  readonly files: readonly ('ledger.db' | 'ledger.db-wal')[]
  readonly service: 'ends' | 'goes on'
  readonly refuses: boolean
}

const faults: readonly DiskFault[] = [
  {
    name: 'a flush that fails for ever',
    calls: 'fsync,fdatasync',
    does: 'error=EIO',
    files: ['ledger.db-wal'],
    service: 'ends',
    refuses: true,
  },
  {
    name: 'one flush that fails',
    calls: 'fsync,fdatasync',
    does: 'error=EIO:when=3',
    files: ['ledger.db-wal'],
    service: 'ends',
    refuses: true,
  },
  {
    name: 'a write that fails',
    calls: 'pwrite64',
    does: 'error=EIO:when=20',
    files: ['ledger.db-wal'],
    service: 'ends',
    refuses: true,
  },
  {
    name: 'reads that fail',
    calls: 'pread64',
    does: 'error=EIO',
    files: ['ledger.db', 'ledger.db-wal'],
    service: 'ends',
    refuses: true,
  },
  {
    name: 'no room, now and then',
    calls: 'pwrite64',
    does: 'error=ENOSPC:when=9..40+3',
    files: ['ledger.db-wal'],
    service: 'goes on',
    refuses: true,
  },
  {
    name: 'no room at all',
    calls: 'pwrite64',
    does: 'error=ENOSPC',
    files: ['ledger.db-wal'],
    service: 'goes on',
    refuses: true,
  },
  {
    name: 'a disk that takes its time',
    calls: 'fsync,fdatasync',
    does: 'delay_exit=150000',
    files: ['ledger.db-wal'],
    service: 'goes on',
    refuses: false,
  },
]

const program = useProgram(installBoardProgram)
let ledger: Ledger

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off' })
  expect(await ledger.builder(['--once']).ended).toBe(0)
})
afterAll(() => {
  ledger.remove()
})

async function start(): Promise<{ readonly service: Running; readonly url: string }> {
  const service = ledger.service({ BUILDER: 'off' })
  return { service, url: await addressOf(service) }
}

async function expectReads(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/rails`)
  expect(answer.status).toBe(200)
  await answer.json()
}

const skipped = noInjection === null ? '' : ` (left out: ${noInjection})`

describe.skipIf(noInjection !== null)(`a disk that fails under the service${skipped}`, () => {
  const clients = createClients()

  test.for(faults)('$name', async ({ calls, does, files, service: outcome, refuses }) => {
    const { service, url } = await start()
    const calm = await clients.post(url, 4)
    expect(calm.every(({ status }) => status === 201)).toBe(true)

    const paths = files.map((file) => join(ledger.dataDir, file))
    const fault = await inject(service.pid, { calls, does, paths })
    // A read that no memory can answer.
    const list = await fetch(`${url}/api/v1/receipts?rail=x402`)
    expect(list.status).toBe(calls === 'pread64' ? 503 : 200)
    const told = await clients.post(url, 12)
    expect(told.some(({ receiptId }) => receiptId === null)).toBe(refuses)
    if (outcome === 'ends') {
      expect(await service.ended).toBe(1)
      expect(service.output()).toMatch(/"level":"error","message":"the database has failed/)
      expect(await fault.heal()).toBeGreaterThan(0)
    } else {
      await expectReads(url)
      expect(await fault.heal()).toBeGreaterThan(0)
      await clients.retry(url)
      await stop(service)
    }

    const next = await start()
    await expectReads(next.url)
    await clients.retry(next.url)
    const kept = await clients.expectStored(ledger)
    expect(kept).toBeGreaterThan(calm.length)
    await stop(next.service)
  })
})
