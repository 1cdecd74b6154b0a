import { createHash, generateKeyPairSync } from 'node:crypto'

import { describe, expect, test } from 'vitest'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import {
  SigningKeyError,
  kidOf,
  publicKeyFromBase64,
  signBytes,
  signingKeyFromPem,
  signingKeyFromSeed,
  signingKeyToPem,
} from '../../src/auth/signing-key.ts'
import { toBase64 } from '../../src/core/base64.ts'
import { SMALL_ORDER_ENCODINGS } from '../../src/core/ed25519-points.ts'

// RFC 8032 section 7.1, tests 1 and 2.
const published = [
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
] as const

describe('the keys of the service', () => {
  test.each(published)(
    'the published seed %s gives its key and signature',
    (seed, key, message, signature) => {
      const signingKey = signingKeyFromSeed(Buffer.from(seed, 'hex'))
      expect(Buffer.from(signingKey.publicKey).toString('hex')).toBe(key)
      const signed = signBytes(signingKey, Buffer.from(message, 'hex'))
      expect(Buffer.from(signed).toString('hex')).toBe(signature)
    },
  )

  test('signing keys round-trip through PEM and sign verifiable signatures', async () => {
    const key = signingKeyFromSeed(Buffer.alloc(32, 9))
    const again = signingKeyFromPem(signingKeyToPem(key))
    expect(again.publicKey).toEqual(key.publicKey)
    expect(again.kid).toBe(key.kid)
    const message = Buffer.from('a document')
    expect(verifyEd25519(message, signBytes(again, message), key.publicKey)).toEqual({
      valid: true,
    })
  })

  test('the kid of a signing key is the first 16 hex digits of the SHA-256 of its public key', () => {
    const key = signingKeyFromSeed(Buffer.alloc(32, 9))
    expect(key.kid).toBe(createHash('sha256').update(key.publicKey).digest('hex').slice(0, 16))
    expect(kidOf(key.publicKey)).toBe(key.kid)
  })

  test('an invalid signing key is refused without being quoted', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    expect(() => signingKeyFromPem(pem)).toThrow(/not ed25519/)
    expect(() => signingKeyFromPem('c2VjcmV0')).toThrow(
      /^the key is not a PKCS#8 private key in PEM form$/,
    )
    expect(() => signingKeyFromSeed(Buffer.alloc(31))).toThrow(SigningKeyError)
  })
})

describe('public keys in base64', () => {
  test('public keys round-trip through base64', () => {
    const { publicKey } = signingKeyFromSeed(Buffer.alloc(32, 9))
    expect(Uint8Array.from(publicKeyFromBase64(toBase64(publicKey)))).toEqual(publicKey)
  })

  test.each([...SMALL_ORDER_ENCODINGS])('refuses the public key of small order %s', (hex) => {
    const text = Buffer.from(hex, 'hex').toString('base64')
    expect(() => publicKeyFromBase64(text)).toThrow(/usable/)
  })

  test.each([
    '',
    'AAAA',
    'A'.repeat(43),
    ` ${'A'.repeat(43)}=`,
    `${'A'.repeat(42)}B=`,
    `${'-'.repeat(43)}=`,
  ])('%j is no public key in base64', (text) => {
    expect(() => publicKeyFromBase64(text)).toThrow(SigningKeyError)
  })
})
