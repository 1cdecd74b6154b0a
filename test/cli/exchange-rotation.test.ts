import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { exchangeKeyPaths, loadExchangeKeys } from '../../src/auth/exchange-keys.ts'
import { jobAccepted, jobList } from '../../src/contract/schemas/job.ts'
import { loadReloaded } from '../../src/runtime/reloaded.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import { openExchange } from '../support/exchange.ts'
import { publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import type { PublicDir } from '../support/http-service.ts'

let folder: string
let published: PublicDir

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-rotation-'))
  published = await publicDir()
  await published.publish(sampleDocuments)
})
afterAll(async () => {
  await published.remove()
  await rm(folder, { recursive: true, force: true })
})

const silent = { debug: noWord, info: noWord, warn: noWord, error: noWord }
function noWord(): void {
  // Nobody reads it here.
}

test('after admin keys rotate-exchange old receipts verify and new ones carry the new key', async () => {
  const keysDir = join(folder, 'keys')
  const keys = await loadReloaded(
    {
      name: 'the keys of the job exchange',
      paths: exchangeKeyPaths(keysDir),
      load: () => loadExchangeKeys(keysDir, systemRandom),
    },
    { clock: systemClock, log: silent },
  )
  const service = await startService(published.dir, { actions: { exchangeKeys: keys.current } })
  const typed = (...args: string[]) =>
    runCommand(args, { LEDGER_URL: service.url, DATA_DIR: folder }, { fetch })
  try {
    const exchange = await openExchange(service)
    const acceptedReceipt = async () => {
      const { id } = await exchange.delivered()
      return jobAccepted.parse((await exchange.act('poster', id, 'accept')).body).receipt_id
    }
    const issuer = async () =>
      jobList.parse((await exchange.look('/api/v1/jobs?limit=1')).body).receipts_by
    const old = await acceptedReceipt()
    const before = await issuer()

    const rotation = await typed('admin', 'keys', 'rotate-exchange', '--json')
    expect([rotation.code, rotation.err]).toEqual([0, ''])
    await keys.reload()

    const after = await issuer()
    expect(after).toEqual(z.record(z.string(), z.unknown()).parse(JSON.parse(rotation.out)))
    expect(after.public_key).not.toBe(before.public_key)
    expect(after.retired?.map((key) => key.public_key)).toEqual([before.public_key])
    const young = await acceptedReceipt()
    for (const [id, key] of [
      [old, before.public_key],
      [young, after.public_key],
    ] as const) {
      const verdict = await typed('receipt', 'verify', id)
      expect([verdict.code, verdict.err]).toEqual([0, ''])
      expect(verdict.out).toContain(`by ${key}`)
    }
    const wrong = await typed('receipt', 'verify', young, '--exchange-key', before.public_key)
    expect(wrong.code).not.toBe(0)
  } finally {
    await service.stop()
  }
})
