/** Requests to the facilitator of the Coinbase Developer Platform, which requires a token for each. */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { createServiceNode } from '../../src/chain/node.ts'
import { ConfigError, parseConfig } from '../../src/config.ts'
import { loadPayments } from '../../src/payments/load.ts'
import { paymentSettingsOf } from '../../src/runtime/payment-settings.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'

const nowMs = Date.UTC(2026, 10, 29, 12)

/** The requests of one look at the health of the facilitator, with a key. */
async function requestsWith(secret: string) {
  const sent: { readonly url: string; readonly headers: Headers }[] = []
  const deps = {
    random: systemRandom,
    clock: { ...systemClock, now: () => nowMs },
    fetch: (url: string | URL, init?: RequestInit) => {
      sent.push({ url: String(url), headers: new Headers(init?.headers) })
      return Promise.resolve(Response.json({ jsonrpc: '2.0', id: 1, result: '0x2105' }))
    },
  }
  const variables = {
    SETTLEMENT: 'facilitator',
    PAYMENT_RECEIVER: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    RPC_URL_BASE: 'https://rpc.test',
    FACILITATOR_URL: 'https://api.cdp.coinbase.com/platform/v2/x402/',
    CDP_API_KEY_ID: 'key-1',
    CDP_API_KEY_SECRET_FILE: '/run/secrets/cdp',
  }
  const config = parseConfig({ variables, readFile: () => secret })
  const node = createServiceNode('https://rpc.test', deps)
  const payments = await loadPayments(paymentSettingsOf(config), { ...deps, node, holder: 'test' })
  if (payments.mode === 'off') throw new Error('payments are off')
  await payments.settler.inspect()
  return sent.filter(({ url }) => url.startsWith('https://api.cdp.coinbase.com'))
}

const json = z.record(z.string(), z.unknown())
const decoded = (part: string) => json.parse(JSON.parse(Buffer.from(part, 'base64url').toString()))

const ed25519 = generateKeyPairSync('ed25519')
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { d = '', x = '' } = ed25519.privateKey.export({ format: 'jwk' })
const raw = Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')])
const pem = ec.privateKey.export({ format: 'pem', type: 'sec1' }).toString()

test.each<readonly [string, string, string, KeyObject]>([
  ['an Ed25519 key', raw.toString('base64'), 'EdDSA', ed25519.publicKey],
  ['an ES256 key', pem, 'ES256', ec.publicKey],
  ['an ES256 key in one line', pem.replaceAll('\n', String.raw`\n`), 'ES256', ec.publicKey],
])('requests with %s have a token for their method and address', async (_, secret, alg, key) => {
  const sent = await requestsWith(secret)
  expect(sent.map(({ url }) => url)).toEqual([
    'https://api.cdp.coinbase.com/platform/v2/x402/supported',
  ])
  const [scheme, token = ''] = (sent[0]?.headers.get('authorization') ?? '').split(' ')
  expect(scheme).toBe('Bearer')
  const [header = '', claims = '', signature = ''] = token.split('.')
  expect(decoded(header)).toEqual({
    alg,
    kid: 'key-1',
    typ: 'JWT',
    nonce: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
  })
  expect(decoded(claims)).toEqual({
    sub: 'key-1',
    iss: 'cdp',
    aud: ['cdp_service'],
    uris: ['GET api.cdp.coinbase.com/platform/v2/x402/supported'],
    iat: nowMs / 1000,
    nbf: nowMs / 1000,
    exp: nowMs / 1000 + 120,
  })
  const options = { key: createPublicKey(key.export({ format: 'pem', type: 'spki' })) }
  const digest = alg === 'EdDSA' ? null : 'sha256'
  const isSigned = verify(
    digest,
    Buffer.from(`${header}.${claims}`),
    { ...options, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  expect(isSigned).toBe(true)
})

test.each([
  ['half an Ed25519 key', raw.subarray(0, 32).toString('base64')],
  ['a key on another curve', pemOf('secp256k1')],
  ['a broken PEM key', pem.replace('M', '!')],
])('%s as the CDP secret prevents the start, without showing it', async (_, secret) => {
  const error: unknown = await requestsWith(secret).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(ConfigError)
  const { message = '', stack = '' } = error instanceof Error ? error : {}
  expect(message).toMatch(/^CDP_API_KEY_SECRET: must be the secret of an Ed25519 or ES256 key/)
  expect(`${message}${stack}`).not.toContain(secret.split('\n')[1] ?? secret)
})

function pemOf(namedCurve: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve })
  return privateKey.export({ format: 'pem', type: 'sec1' }).toString()
}
