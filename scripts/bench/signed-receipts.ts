/** Receipts issued by a platform and submitted by Ethereum wallets: the same ones for the same seed and time. */
import { createHash } from 'node:crypto'

import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js'
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'

import { personalSignHash } from '../../src/auth/eip191.ts'
import { bodySha256, messages, signingText } from '../../src/auth/messages.ts'
import { bytesToHex } from '../../src/core/hex.ts'
import { isoTime } from '../../src/core/time.ts'
import { ed25519Key } from '../../test/support/wallets.ts'

export const platformSlug = 'bench_board'
export const platformKey = ed25519Key('bench platform')
export const serviceName = 'agent-income-ledger'
const workersCount = 500
const payersCount = 50

export interface BenchReceipt {
  readonly raw: string
  readonly message: string
  readonly signature: string
  readonly address: string
  readonly receiptText: string
  readonly platformSignature: string
}

/** Signs the receipts with the numbers from 0 to `count` - 1. viem would take five times as long. */
export async function signReceipts(seed: string, count: number): Promise<readonly BenchReceipt[]> {
  const curve = await instantiateSecp256k1()
  const walletOf = (name: string) => {
    const privateKey = createHash('sha256').update(`bench ${name}`).digest()
    const publicKey = curve.derivePublicKeyUncompressed(privateKey)
    if (typeof publicKey === 'string') throw new Error(publicKey)
    const address = `0x${bytesToHex(keccak256(publicKey.subarray(1)).subarray(12))}`
    const sign = (message: string): string => {
      const signed = curve.signMessageHashRecoverableCompact(privateKey, personalSignHash(message))
      if (typeof signed === 'string') throw new Error(signed)
      return `0x${bytesToHex(signed.signature)}${signed.recoveryId === 0 ? '1b' : '1c'}`
    }
    return { address, sign }
  }
  const wallets = new Map<string, ReturnType<typeof walletOf>>()
  const wallet = (name: string) => {
    const known = wallets.get(name) ?? walletOf(name)
    wallets.set(name, known)
    return known
  }
  const timestamp = isoTime(Date.now())
  return Array.from({ length: count }, (_, at) => {
    const { address, sign } = wallet(`worker ${at % workersCount}`)
    const facts = {
      rail: 'x402',
      from_wallet: wallet(`payer ${(at * 7) % payersCount}`).address,
      to_wallet: address,
      amount_usdc: 1 + (at % 500),
      asset_symbol: 'USDC',
      occurred_at: '2026-01-02T00:00:00.000Z',
      summary: `Labelled a batch of pictures, number ${at} of ${seed}`,
      platform: platformSlug,
      platform_signature: '',
    }
    const receiptText = signingText(facts)
    const platformSignature = platformKey.sign(receiptText)
    const unsigned = {
      ...facts,
      platform_signature: `ed25519:${platformSignature}`,
      wallet: address,
      timestamp,
      signature: '',
    }
    const from = { wallet: address, timestamp, bodySha256: bodySha256(unsigned) }
    const message = messages.receipt(serviceName, from)
    const signature = sign(message)
    const raw = JSON.stringify({ ...unsigned, signature })
    return { raw, message, signature, address, receiptText, platformSignature }
  })
}
