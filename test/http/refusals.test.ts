/** Errors explain what to send instead. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { bodySha256, messages } from '../../src/auth/messages.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import { partnerClient } from '../support/partners.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, nearWallet, signedBody, testService } from '../support/wallets.ts'

const service = useService({ per: 'file' })
const alice = evmWallet('alice')

const refusal = z.looseObject({
  code: z.string(),
  details: z.string().optional(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})

async function refused(path: string, sent: object) {
  const { status, body } = await service.postJson(`/api/v1${path}`, sent)
  const { code, details, issues = [] } = refusal.parse(body)
  const messagesByPath = Object.fromEntries(issues.map((issue) => [issue.path, issue.message]))
  return { status, code, details, messagesByPath }
}

async function registration(nowMs = service.clock.now()) {
  const skills = [...service.actions.reference().skills].slice(0, 1)
  return await signedBody(alice, 'register', { skills }, { nowMs })
}

describe('an error response', () => {
  test('the error for an invalid signature quotes the message that was checked', async () => {
    const body = { ...(await registration()), bio: 'added after it was signed' }
    const { code, details } = await refused('/workers/register', body)
    const { wallet, timestamp } = body
    const expected = { wallet, timestamp, bodySha256: bodySha256(body) }
    expect(code).toBe('signature_invalid')
    expect(details).toContain(messages.register(testService, expected))
  })

  test('the error for an expired signature contains the current time', async () => {
    const nowMs = service.clock.now()
    const answer = await refused('/workers/register', await registration(nowMs - hourMs))
    expect(answer).toMatchObject({
      code: 'signature_expired',
      details: `Signed at ${isoTime(nowMs - hourMs)}; the server time is ${isoTime(nowMs)}`,
    })
  })

  test('the error for a partner call without credentials names the headers', async () => {
    const { code, details } = await refused('/partners/subscription', { tier: 'free' })
    expect(code).toBe('credentials_missing')
    expect(details).toMatch(/Authorization: Bearer .*X-Partner-Timestamp/)
  })

  test('the error for an unknown field lists the known fields', async () => {
    const { messagesByPath } = await refused('/feedback', { message: 'hello', massage: 'hello' })
    expect(messagesByPath).toEqual({
      massage: 'is unknown; known fields: message, page, contact, rating',
    })
  })

  test('the error for a field of another form names the fields of that form', async () => {
    const { messagesByPath } = await refused('/receipts', {
      rail: 'x402',
      to_wallet: alice.address,
      amount_usdc: 1,
      asset_symbol: 'USDC',
      occurred_at: isoTime(service.clock.now()),
      wallet: alice.address,
      timestamp: isoTime(service.clock.now()),
      signature: '0x',
      platform: 'market',
      public_key: `${'A'.repeat(43)}=`,
      worker_signature: `0x${'1'.repeat(130)}`,
    })
    expect(messagesByPath).toEqual({
      platform: 'requires platform_signature',
      worker_signature:
        'must be ed25519: and the base64 of 64 bytes; send a wallet signature in the field signature',
    })
  })

  test('the error for a body that fits no form names the fields of each form', async () => {
    const { details } = await refused('/claim', {})
    expect(details).toBe(
      'The body must have one of 3 forms. Required fields: wallet, display_name, timestamp, signature, oath_signature; or email, display_name; or email, code',
    )
  })

  test('the error for a missing choice lists the choices', async () => {
    const { messagesByPath } = await refused('/partners/subscription', {})
    expect(messagesByPath['tier']).toMatch(/^is missing: must be one of .*starter/)
  })
})

test.each([
  [
    'rails/x_402',
    'unknown_rail',
    'Similar: /api/v1/rails/x402. GET /api/v1/rails lists all rails.',
  ],
  ['rails/nope', 'unknown_rail', 'GET /api/v1/rails lists all rails.'],
  [
    'skills/technical_wrting',
    'unknown_skill',
    'Similar: /api/v1/skills/technical-writing. GET /api/v1/skills lists all skills.',
  ],
  ['rails/', 'not_found', 'Similar: /api/v1/rails. Check the path: /openapi.json lists all'],
  ['rail', 'not_found', 'Similar: /api/v1/rails. Check the path: /openapi.json lists all'],
  [
    'workers/0x123',
    'unknown_worker',
    'wallet: must have at least 32 characters; an EVM address consists of 0x (lower case) and 40 hex digits',
  ],
  [`workers/${nearWallet('nobody').address}`, 'unknown_worker', 'To register, send POST'],
  ['receipts/rcp_1', 'unknown_receipt', 'id: must be rcp_ and 64'],
  ['pacts/x', 'unknown_pact', 'GET /api/v1/pacts lists all pacts'],
])('the 404 of /api/v1/%s has the code %s and says %s', async (path, code, details) => {
  const { status, body } = await service.getJson(`/api/v1/${path}`)
  expect([status, body['code']]).toEqual([404, code])
  expect(body['details']).toContain(details)
})

test.each([
  [
    'an unknown rail',
    '/skills',
    { name: 'Kiln', category: 'data-ml', surface: ['x_402'], description: 'Kilns' },
    /similar: x402/,
  ],
  [
    'a wrong code',
    '/claim',
    { email: 'a@b.example', code: '00000000' },
    /last 15 minutes.*POST \/api\/v1\/claim/,
  ],
])('the error for %s names what to send instead', async (_, path, sent, expected) => {
  const { details } = await refused(path, sent)
  expect(details).toMatch(expected)
})

test('the error for an unknown skill of a worker names similar ones and the list', async () => {
  const skills = ['technical-documentaton']
  const { details } = await refused(
    '/workers/register',
    await signedBody(alice, 'register', { skills }, { nowMs: service.clock.now() + 1 }),
  )
  expect(details).toMatch(/\(similar: technical-documentation\).*GET \/api\/v1\/skills lists all/)
})

test('the error for a wallet without a partner names the signup', async () => {
  const { status, body } = await partnerClient(service, alice)('GET', '/api/v1/partners/me')
  expect([status, body['code']]).toEqual([403, 'not_a_partner'])
  expect(body['details']).toContain('POST /api/v1/partners/signup')
})
