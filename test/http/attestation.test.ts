import { beforeEach, describe, expect, test } from 'vitest'

import { messages, sha256Hex } from '../../src/auth/messages.ts'
import { cancelSubscription } from '../../src/core/partner.ts'
import { isoTime } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { findPartner, releaseAttestation, setSubscription } from '../../src/db/partners.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { makePartner } from '../support/partners.ts'
import { expectRefusal, requestJson } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, partnerHeaders, testService } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const service = useService()
const alice = evmWallet('alice')
const mallory = evmWallet('mallory')
const path = '/api/v1/partners/acme-agents/attestation-endpoint'
const endpoint = 'https://acme.test/attest?v=1'

beforeEach(async () => {
  await makePartner(service, alice, { handle: 'acme-agents' })
})

interface Statement {
  readonly url: string
  readonly wallet: string
  readonly timestamp: string
  readonly signature: string
}

async function statement(
  wallet: TestWallet,
  url: string,
  changes: { readonly nowMs?: number; readonly handle?: string; readonly service?: string } = {},
): Promise<Statement> {
  const timestamp = new Date(changes.nowMs ?? service.clock.now()).toISOString()
  const handle = changes.handle ?? 'acme-agents'
  const text = messages.attestationEndpoint(changes.service ?? testService, {
    timestamp,
    handle,
    url,
  })
  return { url, wallet: wallet.address, timestamp, signature: await wallet.sign(text) }
}

async function patch(body: object, headers: Record<string, string> = {}, at = path) {
  const answer = await requestJson(service, at, { method: 'PATCH', body, headers })
  return { status: answer.status, body: answer.body }
}

const record = async () => (await service.getJson('/api/v1/partners/acme-agents')).body

async function actions(): Promise<string[]> {
  const { reader } = service.actions.database
  const rows = await reader.selectFrom('oath_history').select('action').orderBy('seq').execute()
  return rows.map(({ action }) => action)
}

const release = () =>
  service.actions.database.write((tx) =>
    releaseAttestation(tx, 'acme-agents', '2026-11-21T06:00:00.000Z'),
  )

async function cancelPartner({ reader, write }: OpenDatabase): Promise<void> {
  const partner = await findPartner(reader, { handle: 'acme-agents' })
  if (partner === null) throw new Error('there is no partner')
  const nowMs = service.clock.now()
  const ended = cancelSubscription(partner.subscription, nowMs)
  await write((tx) => setSubscription(tx, partner.handle, ended, isoTime(nowMs)))
}

describe('changing the attestation endpoint', () => {
  test('an endpoint change by the bound wallet stores signature hash, signing time and a history row', async () => {
    const body = await statement(alice, endpoint)
    const answer = await patch(body)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      handle: 'acme-agents',
      attestation_endpoint_url: endpoint,
      attestation_signature_sha256: sha256Hex(body.signature),
      attestation_signed_at: body.timestamp,
    })
    expect(await record()).toEqual(answer.body)
    expect(await actions()).toEqual(['signupPartner', 'updateAttestationEndpoint'])
  })

  test('a repeated endpoint change returns its first answer after a rebind or a cancellation', async () => {
    const { database } = service.actions
    const body = await statement(alice, endpoint)
    const first = await patch(body)
    expect(first.status).toBe(200)
    await database.write((tx) =>
      tx.updateTable('partners').set({ attestation_wallet: mallory.id }).execute(),
    )
    expect((await patch(await statement(alice, 'https://new.test/'))).status).toBe(403)
    expect(await patch(body)).toEqual(first)
    await cancelPartner(database)
    expect(await patch(body)).toEqual(first)
    expect(await actions()).toHaveLength(2)
  })

  test('an endpoint change by another wallet returns 403, and writes nothing', async () => {
    expectRefusal(await patch(await statement(mallory, endpoint)), 403, 'forbidden')
    expect(await actions()).toEqual(['signupPartner'])
  })

  test('an endpoint change returns 409 for the same message with another body', async () => {
    const body = await statement(alice, endpoint)
    await patch(body)
    expectRefusal(await patch({ ...body, wallet: alice.id }), 409, 'signature_reused')
  })

  test('an endpoint change signed earlier than the current one returns 409', async () => {
    const { clock } = service
    const early = await statement(alice, 'https://early.test/', { nowMs: clock.now() })
    clock.advance(1000)
    await patch(await statement(alice, endpoint))
    expectRefusal(await patch(early), 409, 'conflict')
    expect(await record()).toMatchObject({ attestation_endpoint_url: endpoint })
  })
})

describe('changing the attestation endpoint without a valid signature', () => {
  test.each([
    ['of another handle', { handle: 'acme-agent' }],
    ['of the staging service', { service: 'agent-income-ledger-staging' }],
    ['from six minutes ago', { nowMs: Date.UTC(2026, 10, 21, 6) - 360_000 }],
  ])('an endpoint change returns 401 for a signature %s', async (_, changes) => {
    expect((await patch(await statement(alice, endpoint, changes))).status).toBe(401)
    expect(await actions()).toEqual(['signupPartner'])
  })

  test('an endpoint change returns 401 for a signature over another URL or time, or by another wallet', async () => {
    const body = await statement(alice, endpoint)
    const later = new Date(service.clock.now() + 1000).toISOString()
    for (const change of [
      { url: 'https://mallory.test/' },
      { wallet: mallory.address },
      { timestamp: later },
    ]) {
      expect((await patch({ ...body, ...change })).status).toBe(401)
    }
  })

  test('an endpoint change accepts no partner bearer token and no e-mail address instead of a signature', async () => {
    const raw = JSON.stringify({ url: endpoint, email: 'ops@acme.test' })
    const request = { method: 'PATCH', path, raw }
    const nowMs = service.clock.now()
    const headers = await partnerHeaders(alice, request, { nowMs, binding: 'body' })
    expect((await patch({ url: endpoint, email: 'ops@acme.test' }, headers)).status).toBe(400)
    expect(await record()).toMatchObject({ attestation_endpoint_url: null })
  })
})

describe('an attestation endpoint without a bound wallet', () => {
  test('a wallet from the oath history binds an attestation endpoint that has no wallet', async () => {
    await patch(await statement(alice, endpoint))
    await release()
    service.clock.advance(1)
    const moved = await patch(await statement(alice, 'https://new.test/attest'))
    expect(moved.status).toBe(200)
    expect(await record()).toMatchObject({ attestation_endpoint_url: 'https://new.test/attest' })
    expectRefusal(await patch(await statement(mallory, endpoint)), 403, 'forbidden')
  })

  test("an unbound endpoint returns 403 for a wallet listed only in another partner's oath history", async () => {
    await makePartner(service, mallory, { handle: 'mallory' })
    await release()
    expectRefusal(await patch(await statement(mallory, endpoint)), 403, 'forbidden')
    expect(await record()).toMatchObject({ attestation_endpoint_url: null })
  })
})

/** Restarts with a partner; the result sets what runs before each later write to the database. */
async function interceptWrites() {
  const opened = await tempDatabase()
  let before = () => Promise.resolve()
  const database: OpenDatabase = {
    ...opened,
    write: async (work) => {
      await before()
      return await opened.write(work)
    },
  }
  await service.restart({ actions: { database } })
  await makePartner(service, alice, { handle: 'acme-agents' })
  return {
    opened,
    beforeWrites: (work: () => Promise<void>) => {
      before = work
    },
  }
}

test('two concurrent endpoint changes: one wins, and the other returns 409 and writes nothing', async () => {
  const { beforeWrites } = await interceptWrites()
  const both = gate()
  let writes = 0
  const first = await statement(alice, 'https://one.test/')
  const second = await statement(alice, 'https://two.test/')
  beforeWrites(async () => {
    writes += 1
    if (writes === 2) both.open()
    await both.opened
  })
  const answers = await Promise.all([patch(first), patch(second)])
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
  const winner = answers.find(({ status }) => status === 200)
  expect(await record()).toEqual(winner?.body)
  expect(await actions()).toEqual(['signupPartner', 'updateAttestationEndpoint'])
})

test('an endpoint change returns 403 and writes nothing if the partner is cancelled during verification', async () => {
  const { opened, beforeWrites } = await interceptWrites()
  const body = await statement(alice, endpoint)
  beforeWrites(() => cancelPartner(opened))
  expectRefusal(await patch(body), 403, 'not_a_partner')
  expect(await actions()).toEqual(['signupPartner'])
})

test.each(['https://127.0.0.1/', 'https://acme.test/\nX-Injected: 1'])(
  'the endpoint URL %j returns 400 before any signature is verified',
  async (url) => {
    expectRefusal(await patch(await statement(alice, url)), 400, 'invalid_input')
    expect(await record()).toMatchObject({ attestation_endpoint_url: null })
  },
)

test('an endpoint change returns 404 for an unknown handle', async () => {
  const body = await statement(alice, endpoint, { handle: 'nobody' })
  const refused = await patch(body, {}, '/api/v1/partners/nobody/attestation-endpoint')
  expectRefusal(refused, 404, 'unknown_partner')
})
