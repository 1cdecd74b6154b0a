import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { documentsOf } from '../../builder/documents/index.ts'
import { loadKeys } from '../../builder/publish/keys.ts'
import { publish } from '../../builder/publish/publish.ts'
import { hourMs, minuteMs } from '../../src/core/time.ts'
import { runCommand } from '../support/command-line.ts'
import { handClock } from '../support/http-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-old-set-'))
  const nowMs = worldNowMs
  const { signer, ring, publicKeys } = await loadKeys({ dir: join(folder, 'keys'), nowMs })
  const signingKeys = { keys: publicKeys.keys.map((key) => ({ ...key })) }
  const documents = [...documentsOf(smallWorld({ signingKeys }))]
  const quiet = () => undefined
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const publicDir = join(folder, 'public')
  await publish({ publicDir, documents, assetsDir: null, signer, ring, nowMs, log })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const verify = (nowMs: number, ...options: string[]) =>
  runCommand(
    ['snapshot', 'verify', '--dir', join(folder, 'public', 'current'), ...options],
    {},
    { clock: handClock(nowMs) },
  )

test('snapshot verify --max-age refuses an old set with a good signature', async () => {
  const tomorrow = worldNowMs + 24 * hourMs
  expect((await verify(tomorrow)).code).toBe(0)
  const old = await verify(tomorrow, '--max-age', '60')
  expect(old.code).toBe(1)
  expect(old.out).toContain('computed 1440 minutes ago')
  expect((await verify(worldNowMs + 59 * minuteMs, '--max-age', '60')).code).toBe(0)
  expect((await verify(tomorrow, '--max-age', 'soon')).code).toBe(2)
})
