import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { decodeBase58, encodeBase58 } from '../../src/core/base58.ts'
import { SMALL_ORDER_ENCODINGS, isUsablePoint } from '../../src/core/ed25519-points.ts'
import { bytesToHex, hexToBytes } from '../../src/core/hex.ts'
import { WalletError, parseWallet, walletPublicKey } from '../../src/core/wallet.ts'
import { readVectors } from '../vectors/read.ts'

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('parseWallet on EVM addresses', () => {
  const accounts = readVectors(
    'ethers/accounts.json.gz',
    z.array(z.object({ address: z.string() })),
  )

  test('parseWallet prints all 259 published EVM accounts with their checksum, from any case', () => {
    expect(accounts).toHaveLength(259)
    for (const { address } of accounts) {
      const wallet = { kind: 'evm', id: address.toLowerCase(), display: address }
      expect(parseWallet(address)).toEqual(wallet)
      expect(parseWallet(address.toLowerCase())).toEqual(wallet)
      expect(parseWallet(`0x${address.slice(2).toUpperCase()}`)).toEqual(wallet)
    }
  })

  const valid = readVectors(
    'eip55/valid.json',
    z.array(z.object({ name: z.string(), text: z.string(), id: z.string(), display: z.string() })),
  )
  test.each(valid)('parseWallet accepts $name: $text', ({ text, id, display }) => {
    expect(parseWallet(text)).toEqual({ kind: 'evm', id, display })
  })

  const invalid = readVectors(
    'eip55/invalid.json',
    z.array(z.object({ reason: z.string(), text: z.string() })),
  )
  test.each(invalid)('parseWallet refuses $reason: $text', ({ text }) => {
    expect(() => parseWallet(text)).toThrow(WalletError)
  })

  test('parseWallet refuses any change of case that leaves an EVM address mixed', () => {
    const address = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf'
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (upper) => {
        const digits = Array.from(address.slice(2), (digit, index) =>
          upper[index] === true ? digit.toUpperCase() : digit.toLowerCase(),
        )
        const text = `0x${digits.join('')}`
        fc.pre(text !== address && /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text))
        expect(() => parseWallet(text)).toThrow(/EIP-55/)
      }),
    )
  })
})

describe('ed25519 wallets', () => {
  test('a Solana address and a NEAR account contain their key', () => {
    fc.assert(
      fc.property(bytes32, (key) => {
        fc.pre(isUsablePoint(key))
        const solana = parseWallet(encodeBase58(key))
        expect(solana.kind).toBe('solana')
        expect(solana.display).toBe(encodeBase58(key))
        expect(walletPublicKey(solana)).toEqual(key)
        const near = parseWallet(bytesToHex(key))
        expect(near).toEqual({ kind: 'near', id: bytesToHex(key), display: bytesToHex(key) })
        expect(walletPublicKey(near)).toEqual(key)
      }),
    )
  })

  test('an EVM wallet has no ed25519 key', () => {
    expect(walletPublicKey(parseWallet(`0x${'12'.repeat(20)}`))).toBeNull()
  })

  test.each([...SMALL_ORDER_ENCODINGS])('parseWallet refuses the small-order key %s', (hex) => {
    expect(() => parseWallet(hex)).toThrow(/small order/)
    const key = hexToBytes(hex) ?? new Uint8Array()
    expect(key).toHaveLength(32)
    expect(() => parseWallet(encodeBase58(key))).toThrow(/small order/)
  })

  test.each(['edffffff', 'eeffffff', 'f0ffffff', 'ffffffff'])(
    'a y coordinate of p or more is no wallet: %s…',
    (start) => {
      for (const end of ['7f', 'ff']) {
        expect(() => parseWallet(start + 'ff'.repeat(27) + end)).toThrow(WalletError)
      }
    },
  )

  test('parseWallet accepts the largest y coordinate that is not of small order', () => {
    expect(parseWallet(`eb${'ff'.repeat(30)}7f`).kind).toBe('near')
  })

  test.each([
    ['the zero address', `0x${'0'.repeat(40)}`],
    ['a precompile', `0x${'0'.repeat(38)}01`],
    ['the precompile of EIP-7951', `0x${'0'.repeat(37)}100`],
    ['an upper-case NEAR account', 'AB'.repeat(32)],
    ['63 hex digits', 'a'.repeat(63)],
    ['65 hex digits', 'a'.repeat(65)],
    ['a named NEAR account', 'alice.near'],
    ['31 bytes of base58', encodeBase58(new Uint8Array(31).fill(7))],
    ['33 bytes of base58', encodeBase58(new Uint8Array(33).fill(7))],
    [
      'a character outside the base58 alphabet',
      `0${encodeBase58(new Uint8Array(32).fill(7)).slice(1)}`,
    ],
    ['a trailing space', `${encodeBase58(new Uint8Array(32).fill(7))} `],
    ['a leading zero digit too many', `1${encodeBase58(new Uint8Array(32).fill(7))}`],
    ['100,000 digits', 'z'.repeat(100_000)],
  ])('parseWallet refuses %s', (_, text) => {
    expect(() => parseWallet(text)).toThrow(WalletError)
  })
})

test('no text is a wallet of two kinds, and an id parses to itself', () => {
  fc.assert(
    fc.property(bytes32, (key) => {
      fc.pre(isUsablePoint(key))
      for (const text of [encodeBase58(key), bytesToHex(key), `0x${bytesToHex(key).slice(24)}`]) {
        const wallet = parseWallet(text)
        expect(parseWallet(wallet.id)).toEqual(wallet)
        expect(parseWallet(wallet.display)).toEqual(wallet)
      }
    }),
  )
})

test('base58 and hex round-trip bytes, and decode only the expected length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      expect(decodeBase58(encodeBase58(bytes), bytes.length)).toEqual(bytes)
      expect(decodeBase58(encodeBase58(bytes), bytes.length + 1)).toBeNull()
      expect(hexToBytes(bytesToHex(bytes))).toEqual(bytes)
    }),
  )
  expect(encodeBase58(Buffer.from('Hello World!'))).toBe('2NEpo7TZRRrLZSi2U')
  expect(hexToBytes('AB')).toBeNull()
  expect(hexToBytes('abc')).toBeNull()
})
