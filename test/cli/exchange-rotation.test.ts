import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'

import { exchangeKeyPaths, loadExchangeKeys } from '../../src/auth/exchange-keys.ts'
import { jobAccepted, jobList } from '../../src/contract/schemas/job.ts'
import { loadReloaded } from '../../src/runtime/reloaded.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import { openExchange } from '../support/exchange.ts'
import { useService } from '../support/use-service.ts'

const folder = mkdtempSync(join(tmpdir(), 'ledger-rotation-'))
afterAll(() => rmSync(folder, { recursive: true }))

const quiet = () => undefined
const keysDir = join(folder, 'keys')
const keys = await loadReloaded(
  {
    name: 'the keys of the job exchange',
    paths: exchangeKeyPaths(keysDir),
    load: () => loadExchangeKeys(keysDir, systemRandom),
  },
  { clock: systemClock, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } },
)
const service = useService({ options: () => ({ actions: { keys: { exchange: keys.current } } }) })
const command = (...args: string[]) =>
  runCommand(args, { LEDGER_URL: service.url, DATA_DIR: folder }, { fetch })

test('after admin keys rotate-exchange old receipts verify and new ones carry the new key', async () => {
  const exchange = await openExchange(service)
  const acceptedReceipt = async () => {
    const { id } = await exchange.delivered()
    return jobAccepted.parse((await exchange.act('poster', id, 'accept')).body).receipt_id
  }
  const issuer = async () =>
    jobList.parse((await exchange.look('/api/v1/jobs?limit=1')).body).receipts_by
  const oldReceipt = await acceptedReceipt()
  const before = await issuer()

  const rotation = await command('admin', 'keys', 'rotate-exchange', '--json')
  expect([rotation.code, rotation.err]).toEqual([0, ''])
  await keys.reload()

  const after = await issuer()
  expect(after).toEqual(z.record(z.string(), z.unknown()).parse(JSON.parse(rotation.out)))
  expect(after.public_key).not.toBe(before.public_key)
  expect(after.retired?.map((key) => key.public_key)).toEqual([before.public_key])
  const newReceipt = await acceptedReceipt()
  for (const [id, key] of [
    [oldReceipt, before.public_key],
    [newReceipt, after.public_key],
  ] as const) {
    const { code, out, err } = await command('receipt', 'verify', id)
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`by ${key}`)
  }
  const wrong = await command('receipt', 'verify', newReceipt, '--exchange-key', before.public_key)
  expect(wrong.code).not.toBe(0)
})
