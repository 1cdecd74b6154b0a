import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, onTestFinished, test } from 'vitest'

import { encodeBase58 } from '../../src/core/base58.ts'
import { createLog } from '../../src/core/log.ts'
import { webhookSecret } from '../../src/outbound/standard-webhook.ts'
import { expectNoSecrets, neverLogPassword, neverLogSecretsOf } from './no-secrets.ts'
import {
  ed25519Key,
  evmWallet,
  nearWallet,
  partnerHeaders,
  receiptSignature,
  solanaWallet,
} from './wallets.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV1,
  paymentV2,
  signAuthorization,
} from './x402-payment.ts'

const nowMs = Date.UTC(2026, 10, 21)
const address = chainAccount('receiver').address
const signed = await signAuthorization(chainAccount('payer'), { to: address, value: 2000n })
const evmSignature = await evmWallet('a').sign('message')
const nearSignature = await nearWallet('a').sign('message')
const signature = await solanaWallet('a').sign('message')
const bytes = Buffer.from(signature, 'base64')
const { privateKey } = generateKeyPairSync('ed25519')
const der = privateKey.export({ format: 'der', type: 'pkcs8' })
const seed = createHash('sha256').update('test wallet a').digest()
const bearer = await partnerHeaders(
  evmWallet('a'),
  { method: 'GET', path: '/api/v1/partners/me' },
  { nowMs },
)

function lineWith(text: string): string {
  let written = ''
  const write = (lines: string) => (written += lines)
  const log = createLog({ level: 'info', now: () => nowMs, write, defer: (flush) => flush() })
  log.info('failed', { reason: `refused (${text}), try again` })
  log.flush()
  return `{"message":"before"}\n${written}{"message":"after"}\n`
}

describe('expectNoSecrets', () => {
  test.each([
    ['a signature of an EVM wallet', evmSignature],
    ['an ed25519 signature in base64', signature],
    ['an ed25519 signature in base64', nearSignature],
    ['an ed25519 signature in base64', receiptSignature(ed25519Key('a'), { a: 1 })],
    ['an ed25519 signature in base64', sign(null, Buffer.from('a'), privateKey).toString('base64')],
    ['an ed25519 signature in hex', bytes.toString('hex')],
    ['an ed25519 signature in base58', encodeBase58(bytes)],
    ['partner credentials', bearer['Authorization'] ?? ''],
    ['a private key in PEM', privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['an ed25519 private key in DER', der.toString('base64')],
    ['the secret of a webhook', webhookSecret(() => seed.toString('hex'), 'subscription')],
    ['a payment', headerOf(paymentV1(signed))],
    ['a payment', headerOf(paymentV2(signed))],
    [
      'a signature of an EVM wallet in base64',
      headerOf(Object.fromEntries(Object.entries(paymentV1(signed)).toReversed())),
    ],
    [
      'a signature of an EVM wallet in base64',
      `of=/${Buffer.from(JSON.stringify(paymentV2(signed), null, 2)).toString('base64url')}`,
    ],
    ['a password in an address', 'smtps://ledger:correct-horse@mail.ledger.example:465'],
    ['a private key', chainKey('settler')],
    ['a private key', chainKey('settler').slice(2).toUpperCase()],
    ['a private key', seed.toString('hex')],
    ['a private key', seed.toString('base64')],
  ])('a log line with %s is found', (what, text) => {
    expect(() => expectNoSecrets(lineWith('nothing'))).not.toThrow()
    expect(() => expectNoSecrets(lineWith(text))).toThrow(`a log line contains ${what}: `)
  })

  test('a log line with a password or a key that a process was given or has made is found', () => {
    const dir = mkdtempSync(join(tmpdir(), 'ledger-secrets-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const hashKey = randomBytes(32)
    for (const folder of ['keys', 'secrets']) mkdirSync(join(dir, folder))
    writeFileSync(
      join(dir, 'keys/signing.pem'),
      privateKey.export({ format: 'pem', type: 'pkcs8' }),
    )
    writeFileSync(join(dir, 'secrets/hash.key'), hashKey)
    const password = `p@ss/${randomBytes(6).toString('hex')}`
    const url = `smtp://ledger:${encodeURIComponent(password)}@mail.ledger.example`
    neverLogSecretsOf({ DATA_DIR: dir, SMTP_URL: url, PORT: '0' })
    for (const text of [password, hashKey.toString('base64'), der.subarray(-32).toString('hex')]) {
      expect(() => expectNoSecrets(lineWith(text))).toThrow(
        /a log line contains a (?:password|private)/,
      )
    }
  })

  test('the secret that is found in a log line is not shown', () => {
    const settler = chainKey('settler')
    expect(() => expectNoSecrets(lineWith(settler))).toThrow(/refused \(0x[0-9a-f]{10}…$/)
    expect(() => neverLogPassword('short')).toThrow('too short')
  })
})

test('hashes, addresses, public keys and transactions in a log line are no secrets', () => {
  const hash = createHash('sha256').update('a')
  const texts = [
    `0x${hash.copy().digest('hex')}`,
    hash.copy().digest('hex'),
    hash.copy().digest('base64'),
    `rcp_${hash.copy().digest('hex')}`,
    `"${hash.copy().digest('hex')}"`,
    evmWallet('a').address,
    nearWallet('a').address,
    solanaWallet('a').address,
    ed25519Key('a').base64,
    `sha512-${createHash('sha512').update('a').digest('base64')}`,
    '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed',
    'smtps://ledger:[redacted]@mail.ledger.example',
    Buffer.from(JSON.stringify({ cursor: 'a'.repeat(300) })).toString('base64'),
  ]
  for (const text of texts) expect(() => expectNoSecrets(lineWith(text))).not.toThrow()
})
