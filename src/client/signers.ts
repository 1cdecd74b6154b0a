import type { Secp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1-types.js'

import { seedOf } from '../auth/crypto.ts'
import { addressOf, personalSignHash, secp256k1 } from '../auth/eip191.ts'
import { signBytes, signingKeyFromPem, signingKeyFromSeed } from '../auth/signing-key.ts'
import type { SigningKey } from '../auth/signing-key.ts'
import { decodeBase58, encodeBase58 } from '../core/base58.ts'
import { toBase64 } from '../core/base64.ts'
import { bytesToHex, hexToBytes } from '../core/hex.ts'
import { checksumAddress } from '../core/wallet.ts'
import type { WalletKind } from '../core/wallet.ts'
import { jsonOrNull } from './errors.ts'

export interface WalletSigner {
  readonly kind: WalletKind
  readonly wallet: string
  readonly signMessage: (message: string) => Promise<string>
}

/** The ed25519 key of a worker or a platform. */
export interface ReceiptKey {
  readonly publicKey: string
  /** Returns `ed25519:` and the signature in base64. */
  readonly sign: (text: string) => string
}

/** The error message never contains the key. */
export class KeyFormatError extends Error {
  override readonly name = 'KeyFormatError'
}

/** Signs by EIP-191. @throws KeyFormatError */
export async function evmSigner(privateKey: Uint8Array): Promise<WalletSigner> {
  const curve = await secp256k1()
  const publicKey =
    privateKey.length === 32 && curve.validatePrivateKey(privateKey)
      ? curve.derivePublicKeyUncompressed(privateKey)
      : 'not a key'
  if (typeof publicKey === 'string') throw new KeyFormatError('not a secp256k1 private key')
  return {
    kind: 'evm',
    wallet: checksumAddress(addressOf(publicKey)),
    signMessage: (message) =>
      Promise.resolve(signHash(curve, privateKey, personalSignHash(message))),
  }
}

/** Signs a hash of 32 bytes, such as an EIP-712 digest. @throws KeyFormatError */
export async function signEvmHash(privateKey: Uint8Array, hash: Uint8Array): Promise<string> {
  return signHash(await secp256k1(), privateKey, hash)
}

export function ed25519Signer(kind: 'solana' | 'near', seed: Uint8Array): WalletSigner {
  const key = signingKeyFromSeed(seed)
  return {
    kind,
    wallet: kind === 'solana' ? encodeBase58(key.publicKey) : bytesToHex(key.publicKey),
    signMessage: (message) => {
      const signature = signBytes(key, utf8(message))
      return Promise.resolve(kind === 'solana' ? encodeBase58(signature) : toBase64(signature))
    },
  }
}

function receiptKey(key: SigningKey): ReceiptKey {
  return {
    publicKey: toBase64(key.publicKey),
    sign: (text) => `ed25519:${toBase64(signBytes(key, utf8(text)))}`,
  }
}

export type SecretKey =
  | { readonly kind: 'evm'; readonly privateKey: Uint8Array }
  | { readonly kind: 'solana' | 'near' | 'ed25519'; readonly seed: Uint8Array }

const secretKeyForms = [
  '0x and 64 hex digits (EVM)',
  'base58 of 64 bytes, or the JSON array of solana-keygen (Solana)',
  'ed25519: and base58 of 64 or 32 bytes, or a NEAR credentials file (NEAR)',
  'seed: and 64 hex digits, or a PKCS#8 PEM (ed25519 for receipts and platforms)',
  'the JSON file that keygen writes',
] as const

/** Detects the kind by the format; 64 bare hex digits are ambiguous and refused. @throws KeyFormatError */
export function parseSecretKey(text: string): SecretKey {
  const trimmed = text.trim()
  const key =
    trimmed.startsWith('{') || trimmed.startsWith('[') ? fromJson(trimmed) : fromText(trimmed)
  if (key === null) {
    throw new KeyFormatError(`not a private key. Accepted forms: ${secretKeyForms.join('; ')}`)
  }
  return key
}

/** Formats a key of 32 bytes for `parseSecretKey`. */
export function secretKeyText(kind: SecretKey['kind'], secret: Uint8Array): string {
  if (kind === 'evm') return `0x${bytesToHex(secret)}`
  if (kind === 'ed25519') return `seed:${bytesToHex(secret)}`
  const pair = Uint8Array.of(...secret, ...signingKeyFromSeed(secret).publicKey)
  return kind === 'solana' ? encodeBase58(pair) : `ed25519:${encodeBase58(pair)}`
}

/** @throws KeyFormatError for a bare ed25519 key, which is not a wallet. */
export async function signerOf(key: SecretKey): Promise<WalletSigner> {
  if (key.kind === 'evm') return await evmSigner(key.privateKey)
  if (key.kind !== 'ed25519') return ed25519Signer(key.kind, key.seed)
  throw new KeyFormatError(
    'this is a bare ed25519 key, for receipts and platforms; it is not a wallet',
  )
}

/** @throws KeyFormatError for EVM keys, which cannot sign receipts. */
export function receiptKeyOf(key: SecretKey): ReceiptKey {
  if (key.kind === 'evm') {
    throw new KeyFormatError(
      'receipts are signed with an ed25519 key, but this is the key of an EVM wallet: create a receipt key with `keygen --kind ed25519`',
    )
  }
  return receiptKey(signingKeyFromSeed(key.seed))
}

function fromText(text: string): SecretKey | null {
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) {
    const privateKey = hexToBytes(text.slice(2).toLowerCase())
    return privateKey === null ? null : { kind: 'evm', privateKey }
  }
  const seedHex = /^seed:([0-9a-fA-F]{64})$/.exec(text)?.[1]
  if (seedHex !== undefined) return ofSeed('ed25519', hexToBytes(seedHex.toLowerCase()))
  if (text.startsWith('ed25519:')) {
    const near = text.slice('ed25519:'.length)
    return ofKeypair('near', decodeBase58(near, 64)) ?? ofSeed('near', decodeBase58(near, 32))
  }
  if (text.startsWith('-----BEGIN')) return fromPem(text)
  return ofKeypair('solana', decodeBase58(text, 64))
}

function fromPem(pem: string): SecretKey | null {
  try {
    return { kind: 'ed25519', seed: seedOf(signingKeyFromPem(pem).privateKey) }
  } catch {
    return null
  }
}

function fromJson(text: string): SecretKey | null {
  const value = jsonOrNull(text)
  if (Array.isArray(value)) return ofKeypair('solana', bytesOf(value))
  if (typeof value !== 'object' || value === null) return null
  const members: Readonly<Record<string, unknown>> = { ...value }
  const secret = members['private_key'] ?? members['secret_key']
  return typeof secret === 'string' && !/^[{[]/.test(secret) ? fromText(secret) : null
}

function bytesOf(items: readonly unknown[]): Uint8Array | null {
  const isByte = (item: unknown): item is number =>
    typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255
  return items.every(isByte) ? Uint8Array.from(items) : null
}

/** The pair is a seed and its public key; null if they do not match. */
function ofKeypair(kind: 'solana' | 'near', pair: Uint8Array | null): SecretKey | null {
  if (pair?.length !== 64) return null
  const seed = pair.subarray(0, 32)
  const { publicKey } = signingKeyFromSeed(seed)
  return bytesToHex(publicKey) === bytesToHex(pair.subarray(32)) ? { kind, seed } : null
}

function ofSeed(kind: 'near' | 'ed25519', seed: Uint8Array | null): SecretKey | null {
  return seed === null ? null : { kind, seed }
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function signHash(curve: Secp256k1, privateKey: Uint8Array, hash: Uint8Array): string {
  const signed = curve.signMessageHashRecoverableCompact(privateKey, hash)
  if (typeof signed === 'string') throw new KeyFormatError('the key cannot sign')
  return `0x${bytesToHex(signed.signature)}${signed.recoveryId === 0 ? '1b' : '1c'}`
}
