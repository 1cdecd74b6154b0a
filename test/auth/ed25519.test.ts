import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { decodeEd25519Signature, verifyEd25519 } from '../../src/auth/ed25519.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { encodeBase58 } from '../../src/core/base58.ts'
import { SMALL_ORDER_ENCODINGS } from '../../src/core/ed25519-points.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { readVectors } from '../vectors/read.ts'

allowSlowTests('checks thousands of vectors')

interface Case {
  readonly id: number
  readonly message: Buffer
  readonly signature: Buffer
  readonly publicKey: Buffer
}

function isValid({ message, signature, publicKey }: Omit<Case, 'id'>): boolean {
  return verifyEd25519(message, signature, publicKey).valid
}

const idsOfValid = (cases: readonly Case[]) => cases.filter(isValid).map(({ id }) => id)

const wycheproof = readVectors(
  'wycheproof/ed25519_test.json',
  z.object({
    testGroups: z.array(
      z.object({
        publicKey: z.object({ pk: z.string() }),
        tests: z.array(
          z.object({ tcId: z.number(), msg: z.string(), sig: z.string(), result: z.string() }),
        ),
      }),
    ),
  }),
).testGroups.flatMap(({ publicKey, tests }) =>
  tests.map(({ tcId, msg, sig, result }) => ({
    ...asCase(tcId, msg, sig, publicKey.pk),
    mustVerify: result === 'valid',
  })),
)

const cctv = readVectors(
  'cctv-ed25519/ed25519vectors.json',
  z.array(
    z.object({
      number: z.number(),
      key: z.string(),
      sig: z.string(),
      msg: z.string(),
      flags: z.array(z.string()).nullable(),
    }),
  ),
).map(({ number, key, sig, msg, flags }) => ({
  ...asCase(number, Buffer.from(msg).toString('hex'), sig, key),
  flags: flags ?? [],
}))

const speccheck = readVectors(
  'ed25519-speccheck/cases.json',
  z.array(z.object({ message: z.string(), pub_key: z.string(), signature: z.string() })),
).map(({ message, pub_key, signature }, index) => asCase(index, message, signature, pub_key))

describe('verifyEd25519 on published vectors', () => {
  test('verifyEd25519 decides all 151 cases of Wycheproof as published', () => {
    expect(wycheproof).toHaveLength(151)
    const mustVerify = wycheproof.filter((one) => one.mustVerify).map(({ id }) => id)
    expect(idsOfValid(wycheproof)).toEqual(mustVerify)
  })

  test('verifyEd25519 accepts only case 3 of 12 in speccheck, which every library accepts', () => {
    expect(speccheck).toHaveLength(12)
    expect(idsOfValid(speccheck)).toEqual([3])
  })

  test('verifyEd25519 accepts none of the 914 CCTV cases that a strict verifier may refuse', () => {
    expect(cctv).toHaveLength(914)
    const refused = /^(?:low_order_(?:A|R|residue)|non_canonical_[AR]|reencoded_k)$/
    const mayVerify = cctv.filter(({ flags }) => !flags.some((flag) => refused.test(flag)))
    expect(idsOfValid(cctv)).toEqual(mayVerify.map(({ id }) => id))
  })
})

describe('a signature forged under a small-order key', () => {
  test.each([...SMALL_ORDER_ENCODINGS])('refuses every signature of small-order key %s', (hex) => {
    const publicKey = Buffer.from(hex, 'hex')
    for (const r of SMALL_ORDER_ENCODINGS) {
      const signature = Buffer.concat([Buffer.from(r, 'hex'), Buffer.alloc(32)])
      expect(isValid({ message: Buffer.from('any'), signature, publicKey })).toBe(false)
    }
  })

  test('a signature of an honest key with R of small order is refused', () => {
    const { message, signature, publicKey } = speccheck[2] ?? asCase(0, '', '', '')
    const reason = 'R is of small order or not canonical'
    expect(verifyEd25519(message, signature, publicKey)).toEqual({ valid: false, reason })
  })
})

describe('malleable ed25519 signatures', () => {
  const key = signingKeyFromSeed(Buffer.alloc(32, 7))
  const message = Buffer.from('a receipt')
  const signature = Buffer.from(signBytes(key, message))
  const order = 2n ** 252n + 27742317777372353535851937790883648493n

  test('ed25519 signatures with S above the order are refused', () => {
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
    for (let times = 1n; s + times * order < 2n ** 256n; times += 1n) {
      const hex = (s + times * order).toString(16).padStart(64, '0')
      const twin = Buffer.concat([signature.subarray(0, 32), Buffer.from(hex, 'hex').reverse()])
      expect(verifyEd25519(message, twin, key.publicKey)).toEqual({
        valid: false,
        reason: 'S is not below the order of the group',
      })
    }
  })

  test('ed25519 signatures of 63 or 65 bytes, or with a key of another length, are refused', () => {
    const longer = Buffer.concat([signature, Buffer.alloc(1)])
    for (const wrong of [signature.subarray(0, 63), longer, Buffer.alloc(0)]) {
      expect(verifyEd25519(message, wrong, key.publicKey).valid).toBe(false)
    }
    for (const wrong of [
      key.publicKey.subarray(0, 31),
      Buffer.concat([key.publicKey, Buffer.alloc(1)]),
    ]) {
      expect(verifyEd25519(message, signature, wrong).valid).toBe(false)
    }
  })

  test('an ed25519 signature with a key that is not on the curve is refused', () => {
    const publicKey = Buffer.alloc(32, 0)
    publicKey[0] = 2
    expect(verifyEd25519(message, signature, publicKey).valid).toBe(false)
  })

  test('ed25519 signatures with any flipped bit in message, signature or key are refused', () => {
    const { publicKey } = key
    fc.assert(
      fc.property(fc.nat(message.length * 8 - 1), fc.nat(511), fc.nat(255), (m, s, k) => {
        expect(verifyEd25519(flip(message, m), signature, publicKey).valid).toBe(false)
        expect(verifyEd25519(message, flip(signature, s), publicKey).valid).toBe(false)
        expect(verifyEd25519(message, signature, flip(publicKey, k)).valid).toBe(false)
      }),
    )
  })
})

describe('decodeEd25519Signature', () => {
  test('decodeEd25519Signature reads the same bytes from base58, padded base64 and lower-case hex', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), (bytes) => {
        const buffer = Buffer.from(bytes)
        for (const text of [
          encodeBase58(bytes),
          buffer.toString('base64'),
          buffer.toString('hex'),
        ]) {
          expect(Uint8Array.from(decodeEd25519Signature(text) ?? [])).toEqual(bytes)
        }
      }),
    )
  })

  const bytes = Buffer.alloc(64, 0xfb)
  test.each([
    ['upper-case hex', bytes.toString('hex').toUpperCase()],
    ['hex with a prefix', `0x${bytes.toString('hex')}`],
    ['base64 without padding', bytes.toString('base64').slice(0, -2)],
    ['base64url', bytes.toString('base64url')],
    ['base64 with stray bits', bytes.toString('base64').replace(/.==$/, '/==')],
    ['base64 with a newline', `${bytes.toString('base64')}\n`],
    ['63 bytes of base58', encodeBase58(bytes.subarray(1))],
    ['65 bytes of hex', `${bytes.toString('hex')}00`],
    ['nothing', ''],
  ])('decodeEd25519Signature refuses %s', (_, text) => {
    expect(decodeEd25519Signature(text)).toBeNull()
  })
})

function asCase(id: number, message: string, signature: string, publicKey: string): Case {
  return {
    id,
    message: Buffer.from(message, 'hex'),
    signature: Buffer.from(signature, 'hex'),
    publicKey: Buffer.from(publicKey, 'hex'),
  }
}

function flip(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}
