import { generateKeyPairSync, sign } from 'node:crypto'

import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'

import { schemes, verifySignature } from '../../src/auth/schemes.ts'
import { encodeBase58 } from '../../src/core/base58.ts'
import { WALLET_KINDS, parseWallet } from '../../src/core/wallet.ts'
import type { Wallet, WalletKind } from '../../src/core/wallet.ts'

const account = privateKeyToAccount(`0x${'33'.repeat(32)}`)
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)

const wallets = {
  evm: parseWallet(account.address),
  solana: parseWallet(encodeBase58(raw)),
  near: parseWallet(raw.toString('hex')),
} as const satisfies Record<WalletKind, Wallet>

const signers = {
  evm: (message) => account.signMessage({ message }),
  solana: async (message) => encodeBase58(sign(null, Buffer.from(message), privateKey)),
  near: async (message) => sign(null, Buffer.from(message), privateKey).toString('base64'),
} as const satisfies Record<WalletKind, (message: string) => Promise<string>>

describe('the table of signature schemes', () => {
  test('every kind of wallet has a signature scheme', () => {
    expect(Object.keys(schemes).toSorted()).toEqual([...WALLET_KINDS].toSorted())
  })

  test.each(WALLET_KINDS)('signatures of %s verify for their own message only', async (kind) => {
    const signature = await signers[kind]('a message')
    const wallet = wallets[kind]
    const verdict = await verifySignature({ message: 'a message', signature, wallet })
    expect(verdict).toEqual({ valid: true })
    expect(await verifySignature({ message: 'a massage', signature, wallet })).toMatchObject({
      valid: false,
    })
  })

  test.each(WALLET_KINDS)('refuses malformed %s signatures, naming the form', async (kind) => {
    for (const signature of ['', '0x', 'null', '\0', 'z'.repeat(100_000), '{}', '0x'.repeat(66)]) {
      const verdict = await verifySignature({ message: 'm', signature, wallet: wallets[kind] })
      expect(verdict).toHaveProperty('valid', false)
      expect(verdict).toHaveProperty('reason', expect.stringMatching(/hex/))
    }
  })
})
