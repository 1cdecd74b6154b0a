import { generateKeyPairSync, sign, verify } from 'node:crypto'

import { verifyAsync } from '@noble/ed25519'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { decodeEd25519Signature, publicKeyObject, verifyEd25519 } from '../../src/auth/ed25519.ts'
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

async function isValid({ message, signature, publicKey }: Case): Promise<boolean> {
  return verifyEd25519(message, signature, publicKey).valid
}

async function idsOfValid(cases: readonly Case[]): Promise<number[]> {
  const verdicts = await Promise.all(cases.map(isValid))
  return cases.filter((_, index) => verdicts[index]).map(({ id }) => id)
}

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
  test('decides all 151 cases of Wycheproof as published', async () => {
    expect(wycheproof).toHaveLength(151)
    const mustVerify = wycheproof.filter((one) => one.mustVerify).map(({ id }) => id)
    expect(await idsOfValid(wycheproof)).toEqual(mustVerify)
  })

  test('verifies only case 3 of the 12 speccheck cases, which every library accepts', async () => {
    expect(speccheck).toHaveLength(12)
    expect(await idsOfValid(speccheck)).toEqual([3])
  })

  test('verifies none of the 914 CCTV cases that a strict verifier may refuse', async () => {
    expect(cctv).toHaveLength(914)
    const valid = new Set(await idsOfValid(cctv))
    const refusedFlags = [
      'low_order_A',
      'low_order_R',
      'non_canonical_A',
      'non_canonical_R',
      'low_order_residue',
      'reencoded_k',
    ]
    const mayVerify = cctv.filter(({ flags }) => !flags.some((flag) => refusedFlags.includes(flag)))
    expect([...valid]).toEqual(mayVerify.map(({ id }) => id))
  })

  test('agrees with noble without ZIP-215 on everything accepted', async () => {
    const all: readonly Case[] = [...wycheproof, ...cctv, ...speccheck]
    for (const one of all) {
      const byNode = verify(null, one.message, publicKeyObject(one.publicKey), one.signature)
      const byNoble = await verifyAsync(one.signature, one.message, one.publicKey, {
        zip215: false,
      }).catch(() => false)
      const ours = await isValid(one)
      expect(ours && !(byNode && byNoble)).toBe(false)
      expect(byNode && byNoble && !ours && !usesSmallOrder(one)).toBe(false)
    }
  })
})

describe('a signature forged under a small-order key', () => {
  test.each([...SMALL_ORDER_ENCODINGS])(
    '%s: no signature stands for any message, on any version of Node',
    async (hex) => {
      const publicKey = Buffer.from(hex, 'hex')
      for (const r of SMALL_ORDER_ENCODINGS) {
        const signature = Buffer.concat([Buffer.from(r, 'hex'), Buffer.alloc(32)])
        expect(await isValid({ id: 0, message: Buffer.from('any'), signature, publicKey })).toBe(
          false,
        )
      }
    },
  )

  test('is refused for an honest key with R of small order', async () => {
    const [case2] = speccheck.slice(2)
    expect(case2 !== undefined && usesSmallOrder(case2)).toBe(true)
    expect(
      case2 !== undefined && verifyEd25519(case2.message, case2.signature, case2.publicKey),
    ).toEqual({
      valid: false,
      reason: 'R is of small order or not canonical',
    })
  })
})

describe('malleable ed25519 signatures', () => {
  const key = signingKeyFromSeed(Buffer.alloc(32, 7))
  const message = Buffer.from('a receipt')
  const signature = Buffer.from(signBytes(key, message))
  const order = 2n ** 252n + 27742317777372353535851937790883648493n

  test('with S above the order are refused', async () => {
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

  test('of 63 and 65 bytes, or with a key of another length, are refused', async () => {
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

  test('with a key that is not on the curve are refused', async () => {
    const publicKey = Buffer.alloc(32, 0)
    publicKey[0] = 2
    expect(verifyEd25519(message, signature, publicKey).valid).toBe(false)
  })

  test('with any flipped bit in message, signature or key are refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(message.length * 8 - 1),
        fc.nat(511),
        fc.nat(255),
        async (m, s, k) => {
          expect(verifyEd25519(flip(message, m), signature, key.publicKey).valid).toBe(false)
          expect(verifyEd25519(message, flip(signature, s), key.publicKey).valid).toBe(false)
          expect(verifyEd25519(message, signature, flip(key.publicKey, k)).valid).toBe(false)
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('decodeEd25519Signature', () => {
  test('reads the same 64 bytes from base58, padded base64 and lower-case hex', () => {
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
  ])('%s is refused', (_, text) => {
    expect(decodeEd25519Signature(text)).toBeNull()
  })
})

test('a signature by OpenSSL verifies', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const signature = sign(null, Buffer.from('é'), privateKey)
  expect(verifyEd25519('é', signature, raw)).toEqual({ valid: true })
})

function asCase(id: number, message: string, signature: string, publicKey: string): Case {
  return {
    id,
    message: Buffer.from(message, 'hex'),
    signature: Buffer.from(signature, 'hex'),
    publicKey: Buffer.from(publicKey, 'hex'),
  }
}

function usesSmallOrder({ signature, publicKey }: Case): boolean {
  const points = [publicKey, signature.subarray(0, 32)]
  return points.some((point) => SMALL_ORDER_ENCODINGS.has(point.toString('hex')))
}

function flip(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}
