import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import {
  bodySha256,
  fillOath,
  messages,
  receiptId,
  sha256Hex,
  signingText,
} from '../../src/auth/messages.ts'

const service = 'agent-income-ledger'
const wallet = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf'
const timestamp = '2026-01-01T00:00:00.000Z'
const hash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

describe('messages', () => {
  const request = { timestamp: '1767225600', method: 'POST', path: '/api/v1/jobs' }
  const body = { wallet, timestamp, bodySha256: hash }
  const endpoint = { timestamp, handle: 'acme', url: 'https://a.example/x' }
  const signed = `${wallet}:${timestamp}:${hash}`
  test.each([
    [messages.register(service, body), `agent-income-ledger-register-v1:${signed}`],
    [messages.claim(service, body), `agent-income-ledger-claim-v1:${signed}`],
    [messages.receipt(service, body), `agent-income-ledger-receipt-v1:${signed}`],
    [
      messages.deliver(service, { ...body, jobId: 'job_1' }),
      `agent-income-ledger-deliver-v1:${wallet}:${timestamp}:job_1:${hash}`,
    ],
    [
      messages.attestationEndpoint(service, endpoint),
      `agent-income-ledger-attestation-endpoint-v1:${timestamp}:acme:https://a.example/x`,
    ],
    [
      messages.partnerAuthV1(service, request),
      'agent-income-ledger-partner-auth-v1:1767225600:POST:/api/v1/jobs',
    ],
    [
      messages.partnerAuthV2(service, { ...request, rawSha256: hash }),
      `agent-income-ledger-partner-auth-v2:1767225600:POST:/api/v1/jobs:${hash}`,
    ],
  ])('a signed message reads %s', (message, expected) => {
    expect(message).toBe(expected)
  })

  test('messages of two kinds are never equal, whatever the fields contain', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '',
        ':',
        '{TIMESTAMP}',
        `:${hash}`,
        `\n${service}-claim-v1:`,
        `${service}-register-v1:${wallet}`,
      ),
    )
    const ofBody = {
      wallet: text,
      timestamp: text,
      bodySha256: text,
      jobId: text,
      handle: text,
      buyer: text,
      oldWallet: text,
    }
    const fields = fc.record({ ...ofBody, url: text, method: text, path: text, rawSha256: text })
    const kinds = Object.values(messages)
    fc.assert(
      fc.property(fields, fields, (left, right) => {
        for (const [index, kind] of kinds.entries()) {
          for (const other of kinds.slice(index + 1)) {
            expect(kind(service, left)).not.toBe(other(service, right))
          }
        }
      }),
    )
  })
})

describe('oaths', () => {
  test('an oath is filled in once: braces in values stay text', () => {
    const values = { wallet: '{TIMESTAMP}$&$1', timestamp: '{WALLET}' }
    expect(fillOath('{WALLET} at {TIMESTAMP}', values)).toBe('{TIMESTAMP}$&$1 at {WALLET}')
  })

  test('an oath keeps every brace that is no placeholder', () => {
    const template = '{wallet} {HANDLE} {{WALLET}}'
    expect(fillOath(template, { wallet: 'w', timestamp: 't' })).toBe('{wallet} {HANDLE} {w}')
  })
})

describe('the hash of a body', () => {
  test('the hash of a body is that of its canonical JSON with empty signature fields', () => {
    const body = { signature: '0xabc', b: 1, a: 'é', oath_signature: 'x' }
    expect(signingText(body)).toBe('{"a":"é","b":1,"oath_signature":"","signature":""}')
    expect(bodySha256(body)).toBe(
      sha256Hex(Buffer.from('{"a":"é","b":1,"oath_signature":"","signature":""}', 'utf8')),
    )
    expect(bodySha256(body)).toBe(
      '65702a812ee53ed9c2edcf6fa07e4c413b8533020dfab9487af87170aa228345',
    )
  })

  test('the hash of a body changes with every field but the signature', () => {
    const body = { wallet, timestamp, signature: '' }
    expect(bodySha256({ ...body, signature: 'any' })).toBe(bodySha256(body))
    expect(bodySha256({ ...body, wallet: wallet.toLowerCase() })).not.toBe(bodySha256(body))
    expect(bodySha256({ wallet, timestamp })).not.toBe(bodySha256(body))
    expect(bodySha256({ ...body, bio: '\u00E9' })).not.toBe(bodySha256({ ...body, bio: 'e\u0301' }))
    expect(bodySha256({ ...body, inner: { signature: '1' } })).not.toBe(
      bodySha256({ ...body, inner: { signature: '2' } }),
    )
  })

  test('the hash of a receipt is its id, independent of the signature', () => {
    const receipt = { rail: 'x402', to_wallet: wallet, amount_usdc: 1.5 }
    const id = receiptId({ ...receipt, signature: 'a' })
    expect(id).toMatch(/^rcp_[0-9a-f]{64}$/)
    expect(receiptId({ signature: 'b', amount_usdc: 1.5, to_wallet: wallet, rail: 'x402' })).toBe(
      id,
    )
    expect(receiptId({ ...receipt, amount_usdc: 1.6, signature: 'a' })).not.toBe(id)
  })
})
