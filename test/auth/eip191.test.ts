import { createHash } from 'node:crypto'

import { keccak_256 as keccak256 } from '@noble/hashes/sha3'
import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { recoverSigner, verifyPersonalSign } from '../../src/auth/eip191.ts'
import { bytesToHex } from '../../src/core/hex.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { readVectors } from '../vectors/read.ts'

allowSlowTests('checks thousands of vectors')

const claim = { message: z.string(), address: z.string(), signature: z.string() }

describe('verifyPersonalSign', () => {
  const valid = readVectors(
    'personal-sign/valid.json',
    z.array(z.object({ name: z.string(), ...claim })),
  )
  test.each(valid)('the personal $name verifies', async ({ message, signature, address }) => {
    expect(await verifyPersonalSign(message, signature, address)).toEqual({ valid: true })
  })

  const invalid = readVectors(
    'personal-sign/invalid.json',
    z.array(z.object({ reason: z.string(), ...claim })),
  )
  test.each(invalid)('refuses a signature: $reason', async ({ message, signature, address }) => {
    const verdict = await verifyPersonalSign(message, signature, address)
    expect(verdict).toHaveProperty('valid', false)
    expect(verdict).toHaveProperty('reason', expect.stringMatching(/./))
  })

  test('the refused personal signatures include 5 other spellings', () => {
    const spellings = invalid.filter(({ reason }) => reason.startsWith('spelling'))
    expect(new Set(spellings.map(({ reason }) => reason)).size).toBe(5)
  })

  test('personal signatures of an independent wallet verify for their message and address only', async () => {
    const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => {
      bytes[0] = 1
      return bytes
    })
    await fc.assert(
      fc.asyncProperty(key, fc.string({ unit: 'binary' }), async (bytes, message) => {
        const account = privateKeyToAccount(`0x${Buffer.from(bytes).toString('hex')}`)
        const signature = await account.signMessage({ message })
        const address = account.address.toLowerCase()
        expect((await verifyPersonalSign(message, signature, address)).valid).toBe(true)
        expect((await verifyPersonalSign(`${message}.`, signature, address)).valid).toBe(false)
        expect((await verifyPersonalSign(message, signature, `0x${'1'.repeat(40)}`)).valid).toBe(
          false,
        )
      }),
      { numRuns: 30 },
    )
  })
})

const accounts = readVectors(
  'ethers/accounts.json.gz',
  z.array(z.object({ privateKey: z.string(), address: z.string() })),
)

test('each of the 259 published keys of ethers signs for its own address', async () => {
  expect(accounts).toHaveLength(259)
  for (const { privateKey, address } of accounts) {
    const account = privateKeyToAccount(`0x${privateKey.slice(2)}`)
    const signature = await account.signMessage({ message: 'one of 259' })
    const verdict = await verifyPersonalSign('one of 259', signature, address.toLowerCase())
    expect(verdict).toEqual({ valid: true })
  }
})

describe('Wycheproof, secp256k1 with low s only', () => {
  const { testGroups } = readVectors(
    'wycheproof/ecdsa_secp256k1_sha256_bitcoin_test.json',
    z.object({
      testGroups: z.array(
        z.object({
          publicKey: z.object({ uncompressed: z.string() }),
          tests: z.array(
            z.object({ tcId: z.number(), msg: z.string(), sig: z.string(), result: z.string() }),
          ),
        }),
      ),
    }),
  )

  // Its point has an x coordinate beyond the order: v 29 or 30, which Ethereum does not have.
  const withoutEthereumForm = [346]

  test('decides all 463 Wycheproof cases of secp256k1 with low s as published', async () => {
    const wrong: number[] = []
    let count = 0
    for (const { publicKey, tests } of testGroups) {
      const point = Buffer.from(publicKey.uncompressed, 'hex').subarray(1)
      const address = `0x${bytesToHex(keccak256(point).subarray(12))}`
      for (const { tcId, msg, sig, result } of tests) {
        count += 1
        const hash = createHash('sha256').update(Buffer.from(msg, 'hex')).digest()
        const rAndS = fromDer(sig)
        // DER carries no recovery id: the signature is the key's if either recovers it.
        const signers =
          rAndS === null
            ? []
            : await Promise.all(['1b', '1c'].map((v) => recoverSigner(hash, `0x${rAndS}${v}`)))
        if (signers.includes(address) !== (result === 'valid')) wrong.push(tcId)
      }
    }
    expect(count).toBe(463)
    expect(wrong).toEqual(withoutEthereumForm)
  })
})

/** r and s of strict DER as 128 hex digits; null where the encoding alone makes it no signature. */
function fromDer(hex: string): string | null {
  const match = /^30([0-7][0-9a-f])((?:[0-9a-f]{2})*)$/.exec(hex)
  const body = match?.[2] ?? ''
  if (match === null || Number.parseInt(match[1] ?? '', 16) * 2 !== body.length) return null
  const [r, afterR] = derInteger(body)
  const [s, afterS] = derInteger(afterR)
  return r === null || s === null || afterS !== '' ? null : r + s
}

function derInteger(hex: string): readonly [string | null, string] {
  const length = Number.parseInt(hex.slice(2, 4), 16) * 2
  const digits = hex.slice(4, 4 + length)
  const isMinimal = /^(?:00[89a-f]|0[1-9a-f]|[1-7]|00$)/.test(digits)
  if (!hex.startsWith('02') || digits.length !== length || !isMinimal) return [null, '']
  const value = digits.replace(/^00(?=.)/, '').padStart(64, '0')
  return [value.length === 64 ? value : null, hex.slice(4 + length)]
}
