import { expect, test } from 'vitest'

import { logKeys } from '../../../builder/log/keys.ts'
import type { Platform } from '../../../src/contract/schemas/platform.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { smallWorld } from '../../support/world.ts'

const acme: Platform = {
  platform: 'acme',
  name: 'Acme',
  public_key: `${'A'.repeat(43)}=`,
  rails: ['x402'],
  added_at: '2026-01-01T00:00:00.000Z',
}

test('each key of service, exchange and platforms is queued once, and a revocation after it', async () => {
  const database = await tempDatabase()
  const queued = async () =>
    await database.reader
      .selectFrom('log_queue')
      .select(['subject', 'extra'])
      .orderBy('seq')
      .execute()
  const world = { ...smallWorld(), platforms: [acme] }
  const last = { sha256: '' }
  await logKeys(database, world, last)
  const first = await queued()
  expect(first.map(({ subject }) => subject)).toContain('service')
  expect(first.at(-1)).toEqual({ subject: 'acme', extra: '{"event":"activates"}' })
  await logKeys(database, world, last)
  expect(await queued()).toHaveLength(first.length)
  const revoked = { ...acme, revoked_at: '2026-02-01T00:00:00.000Z' }
  await logKeys(database, { ...world, platforms: [revoked] }, last)
  expect((await queued()).at(-1)).toEqual({ subject: 'acme', extra: '{"event":"revokes"}' })
})
