import { expect, test } from 'vitest'

import { logAuthored } from '../../../builder/log/authored.ts'
import { sequence } from '../../../builder/log/sequence.ts'
import { gatherPlatforms } from '../../../builder/world/registries.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { noteSigner } from '../../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import type { Platform } from '../../../src/contract/schemas/platform.ts'
import { canonicalize } from '../../../src/core/canonical-json.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { queued } from '../../support/logged.ts'
import { registrationBody } from '../../support/requests.ts'
import { useService } from '../../support/use-service.ts'
import { ed25519Key, evmWallet } from '../../support/wallets.ts'
import { smallWorld } from '../../support/world.ts'

const service = useService()

const signer = noteSigner('keys.test/log', signingKeyFromSeed(Buffer.alloc(32, 1)))

const acme: Platform = {
  platform: 'acme',
  name: 'Acme',
  public_key: `${'A'.repeat(43)}=`,
  rails: ['x402'],
  added_at: '2026-01-01T00:00:00.000Z',
}

test('each key of service, exchange and platforms is queued once, and a revocation after it', async () => {
  const database = await tempDatabase()
  const entries = async () =>
    await database.reader
      .selectFrom('log_queue')
      .select(['subject', 'extra'])
      .orderBy('seq')
      .execute()
  const world = { ...smallWorld(), platforms: [acme] }
  const last = { sha256: '' }
  await logAuthored(database, world, [], last)
  const first = await entries()
  expect(first.map(({ subject }) => subject)).toContain('service')
  expect(first.at(-1)).toEqual({ subject: 'acme', extra: '{"event":"activates"}' })
  await logAuthored(database, world, [], last)
  expect(await entries()).toHaveLength(first.length)
  const revoked = { ...acme, revoked_at: '2026-02-01T00:00:00.000Z' }
  await logAuthored(database, { ...world, platforms: [revoked] }, [], last)
  expect((await entries()).at(-1)).toEqual({ subject: 'acme', extra: '{"event":"revokes"}' })
  await database.write((tx) => sequence(tx, signer, 0, 0))
  expect(await gatherPlatforms(database.reader, [acme, revoked])).toEqual([
    acme,
    // The platform itself has changed, too.
    { ...revoked, revoked_index: first.length + 1 },
  ])
})

test('key changes in one millisecond, or after the clock was set back, are separate entries', async () => {
  const wallet = evmWallet('worker')
  const [first, second] = ['one', 'two'].map((name) => ed25519Key(name).base64)
  for (const [at, receipt_key] of [first, second, first, second, first].entries()) {
    if (at === 4) service.clock.advance(-1)
    const body = await registrationBody(service, wallet, { receipt_key, bio: `Profile ${at}` })
    expect((await service.postJson('/api/v1/workers/register', body)).status).toBeLessThan(300)
  }
  const { write, reader } = service.actions.database
  await write((tx) => sequence(tx, signer, 0, 0))
  const logged = await reader
    .selectFrom('log_entries')
    .select('entry')
    .orderBy('position')
    .execute()
  const events = logged.map(({ entry }) => /"event":"(\w+)"/.exec(entry)?.[1])
  const changes = Array.from({ length: 4 }, () => ['revokes', 'activates']).flat()
  expect(events).toEqual(['activates', ...changes])
})

test('a worker’s receipt keys are queued when they change, also back to an earlier one', async () => {
  const wallet = evmWallet('worker')
  const [first, second] = ['one', 'two'].map((name) => ed25519Key(name).base64)
  for (const receipt_key of [first, first, second, undefined, first]) {
    service.clock.advance(1000)
    const body = await registrationBody(
      service,
      wallet,
      receipt_key === undefined ? {} : { receipt_key },
    )
    expect((await service.postJson('/api/v1/workers/register', body)).status).toBeLessThan(300)
  }
  const keys = (await queued(service)).filter(({ kind }) => kind === 'key')
  const events = keys.map(({ extra }) => /"event":"(\w+)"/.exec(extra ?? '')?.[1])
  expect(events).toEqual(['activates', 'revokes', 'activates', 'revokes', 'activates'])
  const owner = wallet.id
  expect(keys[0]).toMatchObject({
    subject: owner,
    sha256: sha256Hex(canonicalize({ owner, public_key: first })),
  })
})
