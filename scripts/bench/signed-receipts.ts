/** Receipts issued by a platform and submitted by Ethereum wallets: the same ones for the same seed and time. */
import { createHash } from 'node:crypto'

import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js'
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'

import { personalSignHash } from '../../src/auth/eip191.ts'
import { bytesToHex } from '../../src/core/hex.ts'
import { issued, receiptFacts, submission } from '../../test/support/receipts.ts'
import { ed25519Key } from '../../test/support/wallets.ts'
import type { TestWallet } from '../../test/support/wallets.ts'

export const platformSlug = 'bench_board'
export const platformKey = ed25519Key('bench platform')
const workersCount = 500
const payersCount = 50

/** Signs the receipts with the numbers from 0 to `count` - 1 and returns them as request bodies. */
export async function signReceipts(seed: string, count: number): Promise<readonly string[]> {
  const workers = await fastWallets('worker', workersCount)
  const nowMs = Date.now()
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const worker = workers[at % workersCount]
      if (worker === undefined) throw new Error('no wallet')
      const receipt = issued(factsOf(worker, at, seed), platformKey, platformSlug)
      return JSON.stringify(await submission(worker, receipt, nowMs))
    }),
  )
}

/** The facts of a receipt, which the platform signs. */
export function factsOf(worker: TestWallet, at: number, seed = ''): object {
  const payer = (at * 7) % payersCount
  return receiptFacts(worker, {
    from_wallet: `0x${payer.toString(16).padStart(40, 'f')}`,
    amount_usdc: 1 + (at % 500),
    occurred_at: '2026-01-02T00:00:00.000Z',
    summary: `Labelled a batch of pictures, number ${at} of ${seed}`,
  })
}

/** Ethereum wallets that sign by WebAssembly; signing with viem would take five times as long. */
export async function fastWallets(name: string, count: number): Promise<readonly TestWallet[]> {
  const curve = await instantiateSecp256k1()
  return Array.from({ length: count }, (_, at) => {
    const privateKey = createHash('sha256').update(`bench ${name} ${at}`).digest()
    const publicKey = curve.derivePublicKeyUncompressed(privateKey)
    if (typeof publicKey === 'string') throw new Error(publicKey)
    const address = `0x${bytesToHex(keccak256(publicKey.subarray(1)).subarray(12))}`
    const sign = (message: string): Promise<string> => {
      const signed = curve.signMessageHashRecoverableCompact(privateKey, personalSignHash(message))
      if (typeof signed === 'string') throw new Error(signed)
      const end = signed.recoveryId === 0 ? '1b' : '1c'
      return Promise.resolve(`0x${bytesToHex(signed.signature)}${end}`)
    }
    return { address, id: address, sign }
  })
}
