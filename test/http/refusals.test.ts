/** Errors explain what to send instead. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { bodySha256, messages } from '../../src/auth/messages.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, signedBody, testService } from '../support/wallets.ts'

const service = useService({ documents: [], per: 'file' })
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
