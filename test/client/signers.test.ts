import { createHash, randomBytes } from 'node:crypto'

import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'

import { verifySignature } from '../../src/auth/schemes.ts'
import { signingKeyFromSeed, signingKeyToPem } from '../../src/auth/signing-key.ts'
import {
  KeyFormatError,
  parseSecretKey,
  receiptKeyOf,
  secretKeyText,
  signerOf,
} from '../../src/client/signers.ts'
import { encodeBase58 } from '../../src/core/base58.ts'
import { parseWallet } from '../../src/core/wallet.ts'

const seed = createHash('sha256').update('a key of tests').digest()
const publicKey = signingKeyFromSeed(seed).publicKey
const pair = Buffer.concat([seed, publicKey])

describe('a wallet’s signature', () => {
  test.each(['evm', 'solana', 'near'] as const)(
    'a signature by a new %s key is accepted by the ledger',
    async (kind) => {
      for (let tries = 0; tries < 20; tries += 1) {
        const signer = await signerOf(parseSecretKey(secretKeyText(kind, randomBytes(32))))
        const message = `agent-income-ledger-register-v1:${signer.wallet}:ü`
        const signature = await signer.signMessage(message)
        const wallet = parseWallet(signer.wallet)
        expect(wallet.display).toBe(signer.wallet)
        expect(await verifySignature({ message, signature, wallet })).toMatchObject({ valid: true })
      }
    },
  )

  test('a signature by an EVM key equals the one of other wallet libraries', async () => {
    const hex = `0x${seed.toString('hex')}` as const
    const signer = await signerOf(parseSecretKey(hex))
    const account = privateKeyToAccount(hex)
    expect(signer.wallet).toBe(account.address)
    const message = 'a message of several bytes: 🪙'
    expect(await signer.signMessage(message)).toBe(await account.signMessage({ message }))
  })
})

describe('a private key', () => {
  test.each([
    ['base58 of a Solana pair', encodeBase58(pair), 'solana'],
    ['the array of solana-keygen', JSON.stringify([...pair]), 'solana'],
    ['a NEAR key', `ed25519:${encodeBase58(pair)}`, 'near'],
    ['a NEAR seed', `ed25519:${encodeBase58(seed)}`, 'near'],
    [
      'NEAR credentials',
      JSON.stringify({ account_id: 'x', private_key: `ed25519:${encodeBase58(pair)}` }),
      'near',
    ],
    ['a seed', `seed:${seed.toString('hex')}`, 'ed25519'],
    ['PKCS#8 PEM', signingKeyToPem(signingKeyFromSeed(seed)), 'ed25519'],
    ['a line with white space around it', `  0x${seed.toString('hex')}\n`, 'evm'],
  ])('a private key is read from %s', async (_, text, kind) => {
    const key = parseSecretKey(text)
    expect(key.kind).toBe(kind)
    const secret = key.kind === 'evm' ? key.privateKey : key.seed
    expect(Buffer.from(secret).toString('hex')).toBe(seed.toString('hex'))
  })

  test.each([
    ['64 bare hex digits, which could be two kinds', seed.toString('hex')],
    ['a pair with the public key of another seed', encodeBase58(Buffer.concat([seed, seed]))],
    ['an array with a number above 255', JSON.stringify([...pair.subarray(1), 256])],
    ['JSON in JSON', JSON.stringify({ private_key: JSON.stringify({ private_key: 'x' }) })],
    ['invalid JSON', '{'],
    ['an empty text', ''],
    ['a PEM without a key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'],
  ])('a private key is refused if it is %s, and never shown', (_, text) => {
    expect(() => parseSecretKey(text)).toThrow(KeyFormatError)
    expect(() => parseSecretKey(text)).not.toThrow(seed.toString('hex'))
  })

  test('an EVM key outside the range of the curve is refused', async () => {
    await expect(signerOf(parseSecretKey(`0x${'0'.repeat(64)}`))).rejects.toThrow(KeyFormatError)
    await expect(signerOf(parseSecretKey(`0x${'f'.repeat(64)}`))).rejects.toThrow(KeyFormatError)
  })

  test('an EVM key signs no receipts, and a bare ed25519 key is not a wallet', async () => {
    expect(() => receiptKeyOf(parseSecretKey(`0x${seed.toString('hex')}`))).toThrow(KeyFormatError)
    const bare = parseSecretKey(`seed:${seed.toString('hex')}`)
    await expect(signerOf(bare)).rejects.toThrow(KeyFormatError)
    expect(receiptKeyOf(bare).publicKey).toBe(Buffer.from(publicKey).toString('base64'))
  })
})
