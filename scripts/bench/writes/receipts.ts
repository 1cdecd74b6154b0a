/** Receipts as platforms issue them and plain wallets send them in, signed: the same ones for the same seed and time. */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js'
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'

import { personalSignHash } from '../../../src/auth/eip191.ts'
import { bodySha256, messages, signingText } from '../../../src/auth/messages.ts'
import { bytesToHex } from '../../../src/core/hex.ts'
import { isoTime } from '../../../src/core/time.ts'

export const platformSlug = 'bench_board'
export const benchService = 'agent-income-ledger'
const workersCount = 500
const payersCount = 50

export interface SignedReceipt {
  /** The body as it is sent. */
  readonly raw: string
  /** What the wallet has signed, and by which address. */
  readonly message: string
  readonly signature: string
  readonly address: string
  /** What the platform has signed, and its signature in base64. */
  readonly receiptText: string
  readonly platformSignature: string
}

export interface ReceiptMaker {
  /** The receipt numbered `at`, sent in at that time. */
  readonly make: (at: number, nowMs: number) => SignedReceipt
  /** Raw key in base64, as it stands in the registry of platforms. */
  readonly platformKey: string
}

interface Wallet {
  readonly address: string
  readonly privateKey: Uint8Array
}

export async function createReceiptMaker(seed: string): Promise<ReceiptMaker> {
  const curve = await instantiateSecp256k1()
  const platform = ed25519Key('bench platform')

  const walletOf = (name: string): Wallet => {
    const privateKey = seedOf(name)
    const publicKey = curve.derivePublicKeyUncompressed(privateKey)
    if (typeof publicKey === 'string') throw new Error(publicKey)
    const address = `0x${bytesToHex(keccak256(publicKey.subarray(1)).subarray(12))}`
    return { address, privateKey }
  }
  const workers = Array.from({ length: workersCount }, (_, at) => walletOf(`worker ${at}`))
  const payers = Array.from({ length: payersCount }, (_, at) => walletOf(`payer ${at}`).address)

  const personalSign = ({ privateKey }: Wallet, message: string): string => {
    const signed = curve.signMessageHashRecoverableCompact(privateKey, personalSignHash(message))
    if (typeof signed === 'string') throw new Error(signed)
    return `0x${bytesToHex(signed.signature)}${signed.recoveryId === 0 ? '1b' : '1c'}`
  }

  return {
    platformKey: platform.publicKey,
    make: (at, nowMs) => {
      const worker = taken(workers, at)
      const unissued = {
        rail: 'x402',
        from_wallet: taken(payers, at * 7),
        to_wallet: worker.address,
        amount_usdc: 1 + (at % 500),
        asset_symbol: 'USDC',
        occurred_at: '2026-01-02T00:00:00.000Z',
        summary: `Labelled a batch of pictures, number ${at} of ${seed}`,
        platform: platformSlug,
        platform_signature: '',
      }
      const receiptText = signingText(unissued)
      const platformSignature = platform.sign(receiptText)
      const timestamp = isoTime(nowMs)
      const unsigned = {
        ...unissued,
        platform_signature: `ed25519:${platformSignature}`,
        wallet: worker.address,
        timestamp,
        signature: '',
      }
      const from = { wallet: worker.address, timestamp, bodySha256: bodySha256(unsigned) }
      const message = messages.receipt(benchService, from)
      const signature = personalSign(worker, message)
      return {
        raw: JSON.stringify({ ...unsigned, signature }),
        message,
        signature,
        address: worker.address,
        receiptText,
        platformSignature,
      }
    },
  }
}

function seedOf(name: string): Buffer {
  return createHash('sha256').update(`bench ${name}`).digest()
}

function ed25519Key(name: string): { publicKey: string; sign: (text: string) => string } {
  const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')
  const der = Buffer.concat([pkcs8, seedOf(name)])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  return {
    publicKey: publicKey.toString('base64'),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  }
}

function taken<Item>(items: readonly Item[], at: number): Item {
  const item = items[at % items.length]
  if (item === undefined) throw new Error('nothing to take from')
  return item
}
