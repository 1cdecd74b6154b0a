/** If the database fails while the service runs, writes get 503, the log has the reason, and the exit code is not 0. */
import { truncateSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { receiptFacts, submission, workerSigned } from '../support/receipts.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { ed25519Key, nearWallet } from '../support/wallets.ts'
import { addressOf, newLedger, useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

const worker = nearWallet('worker')
const program = useProgram()

async function post(url: string, summary: string): Promise<number> {
  const receipt = workerSigned(receiptFacts(worker, { summary }), ed25519Key('worker'))
  const body = JSON.stringify(await submission(worker, receipt, Date.now()))
  const headers = { 'Content-Type': 'application/json' }
  return (await fetch(`${url}/api/v1/receipts`, { method: 'POST', headers, body })).status
}

test('a service whose database fails answers 503, then ends with a code other than 0 and says why', async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const service = ledger.service({ BUILDER: 'off' })
  const url = await addressOf(service)
  expect(await post(url, 'before')).toBe(201)

  // Removes all writes since the last checkpoint.
  truncateSync(join(ledger.dataDir, 'ledger.db-wal'), 0)
  expect((await fetch(`${url}/api/v1/receipts?rail=x402`)).status).toBe(503)
  expect(await service.ended).toBe(1)
  expect(service.output()).toMatch(/"level":"error","message":"the database has failed/)
  expect(service.output()).toContain('"message":"stopped"')
  ledger.remove()
})

test('a builder whose database fails ends with a code other than 0 and says why', async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const builder = ledger.builder([])
  await builder.says('"message":"published"')
  truncateSync(join(ledger.dataDir, 'ledger.db-wal'), 0)
  expect(await builder.ended).toBe(1)
  expect(builder.output()).toMatch(/"level":"error","message":"the database has failed/)
  ledger.remove()
})
