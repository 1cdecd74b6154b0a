import { generateKeyPairSync, sign } from 'node:crypto'

import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'

import { bodySha256, fillOath, messages } from '../../src/auth/messages.ts'
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

const service = 'agent-income-ledger'
const timestamp = '2026-01-01T00:00:00.000Z'

describe('the table of signature schemes', () => {
  test('has a scheme for every kind of wallet', () => {
    expect(Object.keys(schemes).toSorted()).toEqual([...WALLET_KINDS].toSorted())
  })

  test.each(WALLET_KINDS)('%s: a signature verifies for its own message only', async (kind) => {
    const signature = await signers[kind]('a message')
    expect(
      await verifySignature({ message: 'a message', signature, wallet: wallets[kind] }),
    ).toEqual({
      valid: true,
    })
    const other = await verifySignature({ message: 'a massage', signature, wallet: wallets[kind] })
    expect(other.valid).toBe(false)
  })

  test.each([
    ['an ed25519 signature on an EVM wallet', 'solana', 'evm'],
    ['a personal signature on a Solana wallet', 'evm', 'solana'],
    ['a personal signature on a NEAR account', 'evm', 'near'],
  ] as const)('%s is refused', async (_, signer, kind) => {
    const signature = await signers[signer]('a message')
    const spellings = [
      signature,
      signature.replace(/^0x/, ''),
      sign(null, Buffer.from('a message'), privateKey).toString('hex').replace(/^/, '0x'),
    ]
    for (const text of signer === 'evm' ? spellings.slice(0, 2) : spellings) {
      const verdict = await verifySignature({
        message: 'a message',
        signature: text,
        wallet: wallets[kind],
      })
      expect(verdict.valid).toBe(false)
    }
  })

  test.each(WALLET_KINDS)('%s: malformed text is refused with the expected form', async (kind) => {
    for (const signature of ['', '0x', 'null', '\0', 'z'.repeat(100_000), '{}', '0x'.repeat(66)]) {
      const verdict = await verifySignature({ message: 'm', signature, wallet: wallets[kind] })
      expect(verdict).toHaveProperty('valid', false)
      expect(verdict).toHaveProperty('reason', expect.stringMatching(/hex/))
    }
  })
})

describe('a signature of one kind used as another', () => {
  const body = { wallet: account.address, timestamp, signature: '' }
  const from = {
    wallet: account.address,
    timestamp,
    bodySha256: bodySha256(body),
    jobId: 'job_1',
    handle: 'acme',
    url: 'https://acme.example/',
    method: 'POST',
    path: '/api/v1/jobs',
    rawSha256: bodySha256(body),
  }
  const texts = [
    ...Object.entries(messages).map(([kind, message]) => [kind, message(service, from)] as const),
    ['oath', fillOath('I, {WALLET}, swear at {TIMESTAMP}.', from)] as const,
  ]

  test.each(texts)('%s: verifies as itself only', async (kind, text) => {
    for (const walletKind of WALLET_KINDS) {
      const signature = await signers[walletKind](text)
      for (const [other, message] of texts) {
        const verdict = await verifySignature({ message, signature, wallet: wallets[walletKind] })
        expect(verdict.valid).toBe(other === kind)
      }
    }
  })
})
