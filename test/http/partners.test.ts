import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { fillOath, messages, sha256Hex } from '../../src/auth/messages.ts'
import { GRACE_MS, PATIENCE_MS, PERIOD_MS } from '../../src/core/partner.ts'
import { countPartners, expireSubscriptions } from '../../src/db/partners.ts'
import { expectAppendOnly } from '../db/temp-database.ts'
import { makePartner } from '../support/partners.ts'
import {
  countRows,
  expectRefusal,
  readPages,
  requestJson,
  signedRequest,
  signOath,
} from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, nearWallet, signedBody, solanaWallet, testService } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const service = useService()
const alice = evmWallet('alice')
const bob = evmWallet('bob')
const signup = '/api/v1/partners/signup'
const me = '/api/v1/partners/me'
const oathPage = z.object({ oaths: z.array(z.object({ time: z.string() })) })

const oath = (wallet: TestWallet, timestamp: string) =>
  signOath(service, 'partner', wallet, timestamp)

async function signupBody(wallet: TestWallet, changes: object = {}): Promise<object> {
  const timestamp = new Date(service.clock.now()).toISOString()
  const oath_signature = await oath(wallet, timestamp)
  const fields = { handle: 'acme-agents', display_name: 'Acme Agents', tier: 'free' }
  return { ...fields, timestamp, oath_signature, ...changes }
}

async function signed(
  wallet: TestWallet,
  method: string,
  path: string,
  body?: object,
  options: { binding?: 'path' | 'body'; service?: string } = {},
) {
  const send = await signedRequest(service, wallet, { method, path, body }, options)
  const answer = await send()
  return { status: answer.status, body: answer.body }
}

const join = async (wallet: TestWallet, changes: object = {}) =>
  signed(wallet, 'POST', signup, await signupBody(wallet, changes), { binding: 'body' })

const rows = (table: 'partners' | 'oath_history') => countRows(service, table)

describe('partner signup', () => {
  test('a free-tier signup is active at once, and its record is public without the e-mail', async () => {
    const profile = {
      skills: ['technical-writing', 'not-in-the-taxonomy'],
      website: 'https://acme.test/',
      bio_short: 'Agents for hire.',
    }
    const answer = await join(alice, { ...profile, email: 'ops@acme.test' })
    expect(answer.status).toBe(201)
    const record = {
      ...profile,
      handle: 'acme-agents',
      display_name: 'Acme Agents',
      wallet: alice.address,
      tier: 'free',
      status: 'active',
      attestation_endpoint_url: null,
      attestation_signature_sha256: null,
      attestation_signed_at: null,
      oath_signed_at: '2026-11-21T06:00:00.000Z',
      created_at: '2026-11-21T06:00:00.000Z',
    }
    expect(answer.body).toEqual(record)
    const shown = await service.getJson('/api/v1/partners/acme-agents')
    expect(shown).toEqual({ status: 200, body: record })
    const mine = await signed(alice, 'GET', me)
    expect(JSON.stringify([answer, shown, mine])).not.toContain('ops@acme.test')
    expect(await countPartners(service.actions.database.reader)).toBe(1)
  })

  test('a paid-tier signup is pending, with its payment terms', async () => {
    const { status, body } = await join(alice, { tier: 'pro' })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      status: 'pending',
      payment: {
        price_usdc: 99,
        tier: 'pro',
        pay_to: 'https://ledger.test/api/v1/partners/subscription',
      },
    })
    const { body: mine } = await signed(alice, 'GET', me)
    expect(mine).toMatchObject({ status: 'pending', renews_at: null })
    expect(await countPartners(service.actions.database.reader)).toBe(0)
  })

  test('partner signup accepts Solana and NEAR wallets', async () => {
    expect((await join(solanaWallet('sol'), { handle: 'on-solana' })).status).toBe(201)
    expect((await join(nearWallet('near'), { handle: 'on-near' })).status).toBe(201)
  })

  test('partner signup returns 409 for a taken handle, a wallet with a partner and a used oath', async () => {
    await join(alice)
    const taken = await join(bob)
    expectRefusal(taken, 409, 'handle_taken')
    expect(taken.body['details']).toMatch(/^Send another handle/)
    expectRefusal(await join(alice, { handle: 'second' }), 409, 'signature_reused')
    service.clock.advance(1)
    const second = await join(alice, { handle: 'second' })
    expectRefusal(second, 409, 'conflict')
    expect(second.body['details']).toContain('PATCH /api/v1/partners/me')
    expect([await rows('partners'), await rows('oath_history')]).toEqual([1, 1])
  })

  test('partner signup treats a wallet as the same in upper and lower case', async () => {
    await join(alice)
    service.clock.advance(1)
    const lower: TestWallet = { ...alice, address: alice.id }
    expectRefusal(await join(lower, { handle: 'second' }), 409, 'conflict')
    expect((await signed(lower, 'GET', me)).body).toMatchObject({ wallet: alice.address })
  })

  test('partner signup requires the oath signed by the wallet of the credentials for the same time', async () => {
    const { clock } = service
    const now = new Date(clock.now()).toISOString()
    const other = new Date(clock.now() - 1000).toISOString()
    const claimOath = await signOath(service, 'claim', alice, now)
    for (const oath_signature of [await oath(bob, now), await oath(alice, other), claimOath]) {
      expectRefusal(await join(alice, { oath_signature }), 401, 'signature_invalid')
    }
    const old = new Date(clock.now() - 300_001).toISOString()
    const refused = await join(alice, { timestamp: old, oath_signature: await oath(alice, old) })
    expectRefusal(refused, 401, 'signature_expired')
    expect(await rows('partners')).toBe(0)
  })
})

describe('a signature made for something else', () => {
  test('returns 401 for an ed25519 signature of an EVM wallet, and the reverse', async () => {
    for (const other of [nearWallet('near'), solanaWallet('sol')]) {
      expect((await signed({ ...alice, sign: other.sign }, 'GET', me)).status).toBe(401)
      const withoutPrefix = async (text: string) => (await alice.sign(text)).slice(2)
      for (const sign of [alice.sign, withoutPrefix]) {
        expect((await signed({ ...other, sign }, 'GET', me)).status).toBe(401)
      }
    }
  })

  test('a signature for one kind of message is refused as any other kind', async () => {
    await makePartner(service, alice, { handle: 'acme-agents' })
    const nowMs = service.clock.now()
    const timestamp = new Date(nowMs).toISOString()
    const url = 'https://acme.test/attest'
    const from = { wallet: alice.address, timestamp, bodySha256: sha256Hex('{}') }
    const seconds = String(Math.floor(nowMs / 1000))
    const partnerText = service.actions.reference().oaths.get('partner')?.text ?? ''
    const texts = [
      messages.register(testService, from),
      messages.claim(testService, from),
      messages.receipt(testService, from),
      messages.partnerAuthV1(testService, { timestamp: seconds, method: 'GET', path: me }),
      fillOath(partnerText, { wallet: alice.address, timestamp }),
    ]
    for (const text of texts) {
      const signature = await alice.sign(text)
      const body = { url, wallet: alice.address, timestamp, signature }
      const path = '/api/v1/partners/acme-agents/attestation-endpoint'
      expect((await requestJson(service, path, { method: 'PATCH', body })).status).toBe(401)
      expect((await join(bob, { oath_signature: signature })).status).toBe(401)
    }
    const attestation = await alice.sign(
      messages.attestationEndpoint(testService, { timestamp, handle: 'acme-agents', url }),
    )
    const headers = {
      Authorization: `Bearer ${alice.address}:${attestation}`,
      'X-Partner-Timestamp': seconds,
    }
    expect((await service.getJson(me, headers)).status).toBe(401)
    const worker = await signedBody(alice, 'register', { skills: ['technical-writing'] }, { nowMs })
    const forged = { ...worker, signature: attestation }
    expect((await service.postJson('/api/v1/workers/register', forged)).status).toBe(401)
  })
})

describe('the own partner record', () => {
  test('the own partner record shows limits and usage of the tier', async () => {
    await makePartner(service, alice, { handle: 'acme-agents', tier: 'pro' })
    const { status, body } = await signed(alice, 'GET', me)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      tier: 'pro',
      require_body_signature: false,
      renews_at: new Date(service.clock.now() + PERIOD_MS).toISOString(),
      limits: {
        requests_per_minute: 3000,
        covers: ['/arbitrage', '/reputation/{wallet}', '/alerts/feed', '/og'],
      },
      usage: { requests_remaining: null, writes_30d: 1 },
    })
  })

  test('the own partner record returns 401 without credentials and 403 to strangers', async () => {
    expect((await service.getJson(me)).body['code']).toBe('credentials_missing')
    expectRefusal(await signed(bob, 'GET', me), 403, 'not_a_partner')
  })

  test('the own partner record is changed field by field, and each change adds a history row', async () => {
    await join(alice, { website: 'https://acme.test/', bio_short: 'Old.', skills: ['one'] })
    const changed = await signed(alice, 'PATCH', me, { bio_short: 'New.', website: null })
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ bio_short: 'New.', skills: ['one'] })
    expect(changed.body).not.toHaveProperty('website')
    const { body } = await service.getJson('/api/v1/partners/acme-agents/oaths')
    expect(body).toMatchObject({
      count: 2,
      total: 2,
      oaths: [
        { kind: 'write', action: 'updateMyPartner', binding: 'path', wallet: alice.address },
        { kind: 'partner', action: 'signupPartner', binding: 'statement', wallet: alice.address },
      ],
    })
    expect((await signed(alice, 'PATCH', me, {})).status).toBe(400)
  })

  test('returns 401 for a path-bound signature if body-bound ones are required', async () => {
    await join(alice)
    const protect = { require_body_signature: true }
    const refused = await signed(alice, 'PATCH', me, protect, { binding: 'path' })
    expectRefusal(refused, 401, 'body_signature_required')
    expect((await signed(alice, 'PATCH', me, protect, { binding: 'body' })).status).toBe(200)
    service.clock.advance(1)
    const rename = { display_name: 'Renamed' }
    const path = await signed(alice, 'PATCH', me, rename, { binding: 'path' })
    expectRefusal(path, 401, 'body_signature_required')
    const off = { require_body_signature: false }
    expect((await signed(alice, 'PATCH', me, off, { binding: 'path' })).status).toBe(401)
    expect((await signed(alice, 'PATCH', me, rename, { binding: 'body' })).status).toBe(200)
    expect((await signed(alice, 'GET', me)).body).toMatchObject({ ...rename, ...protect })
  })
})

describe('a subscription', () => {
  test('a subscription past due permits reads but no writes, and neither after the grace period', async () => {
    await makePartner(service, alice, { handle: 'acme-agents', tier: 'pro' })
    service.clock.advance(PERIOD_MS)
    expect((await signed(alice, 'GET', me)).body).toMatchObject({ status: 'past_due' })
    expectRefusal(await signed(alice, 'PATCH', me, { display_name: 'Late' }), 403, 'not_a_partner')
    service.clock.advance(GRACE_MS)
    const { body } = await service.getJson('/api/v1/partners/acme-agents')
    expect(body).toMatchObject({ status: 'cancelled' })
    const page = await fetch(`${service.url}/partners/acme-agents.md`)
    expect(await page.text()).toContain('Is no longer a partner.')
  })

  test('the scheduled job marks an expired subscription once', async () => {
    await makePartner(service, alice, { handle: 'paid', tier: 'pro' })
    await join(bob, { handle: 'waits', tier: 'team' })
    const { clock, actions } = service
    const expire = () => actions.database.write((tx) => expireSubscriptions(tx, clock.now()))
    const statuses = async () => {
      const query = actions.database.reader.selectFrom('partners').select(['handle', 'status'])
      const rows = await query.execute()
      return Object.fromEntries(rows.map(({ handle, status }) => [handle, status]))
    }
    expect(await expire()).toBe(0)
    for (const [afterMs, paid] of [
      [PATIENCE_MS, 'active'],
      [PERIOD_MS - PATIENCE_MS, 'past_due'],
      [GRACE_MS, 'cancelled'],
    ] as const) {
      clock.advance(afterMs)
      expect([await expire(), await expire()]).toEqual([1, 0])
      expect(await statuses()).toEqual({ paid, waits: 'cancelled' })
    }
  })
})

describe('the oath history', () => {
  test('the oath history is listed in pages, each row once, newest first', async () => {
    await makePartner(service, alice, { handle: 'acme-agents' })
    for (let at = 0; at < 6; at += 1) {
      service.clock.advance(1)
      await signed(alice, 'PATCH', me, { display_name: `Name ${at}` })
    }
    const path = '/api/v1/partners/acme-agents/oaths'
    const pages = await readPages(service, path, '?limit=2')
    expect(pages).toHaveLength(4)
    const seen = pages.flatMap((page) => oathPage.parse(page).oaths.map(({ time }) => time))
    expect(seen).toHaveLength(7)
    expect(seen).toEqual([...new Set(seen)].sort().reverse())
    expect((await service.getJson(`${path}?cursor=nonsense`)).body['code']).toBe('bad_cursor')
  })

  test('the oath history cannot be changed or deleted, not even by an SQL statement', async () => {
    await makePartner(service, alice, { handle: 'acme-agents' })
    await expectAppendOnly(service.actions.database, 'oath_history')
  })
})
