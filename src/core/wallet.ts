import { keccak_256 as keccak256 } from '@noble/hashes/sha3'

import { decodeBase58 } from './base58.ts'
import { isUsablePoint } from './ed25519-points.ts'
import { bytesToHex, hexToBytes } from './hex.ts'
import { memoized } from './remember.ts'

export const WALLET_KINDS = ['evm', 'solana', 'near'] as const
export type WalletKind = (typeof WALLET_KINDS)[number]

/** `id` is the same for every accepted spelling. */
export interface Wallet {
  readonly kind: WalletKind
  /** Lower-case hex for EVM and NEAR, base58 for Solana. */
  readonly id: string
  /** EIP-55 for EVM, otherwise `id`. */
  readonly display: string
}

export class WalletError extends Error {
  override readonly name = 'WalletError'
}

/** Reads an EVM address, a Solana address or a NEAR implicit account without trimming. */
export function readWallet(text: string): Wallet | WalletError {
  if (/^0x/i.test(text)) return readEvm(text)
  if (/^[0-9a-f]{64}$/.test(text)) return readEd25519('near', text, hexToBytes(text))
  return readEd25519('solana', text, decodeBase58(text, 32))
}

/** @throws WalletError */
export function parseWallet(text: string): Wallet {
  const found = readWallet(text)
  if (found instanceof WalletError) throw found
  return found
}

export function walletOrNull(text: string): Wallet | null {
  const found = readWallet(text)
  return found instanceof WalletError ? null : found
}

/** Null for EVM. */
export function walletPublicKey(wallet: Wallet): Uint8Array | null {
  if (wallet.kind === 'evm') return null
  return wallet.kind === 'solana' ? decodeBase58(wallet.id, 32) : hexToBytes(wallet.id)
}

/** One request reads the same addresses several times. */
export const checksumAddress = memoized(withChecksum, 4096)

function withChecksum(lowerCaseAddress: string): string {
  const digits = lowerCaseAddress.slice(2)
  const hash = bytesToHex(keccak256(new TextEncoder().encode(digits)))
  let display = '0x'
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charAt(index)
    display += hash.charAt(index) >= '8' ? digit.toUpperCase() : digit
  }
  return display
}

/** Precompiles are at 0x01 to 0x11 (EIP-7951: 0x100); the EIPs reserve no address above 0xffff. */
const RESERVED_PREFIX = `0x${'0'.repeat(36)}`

function readEvm(text: string): Wallet | WalletError {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    return new WalletError('an EVM address consists of 0x (lower case) and 40 hex digits')
  }
  const digits = text.slice(2)
  const id = text.toLowerCase()
  if (id.startsWith(RESERVED_PREFIX)) {
    return new WalletError('the zero address and the addresses of precompiles have no private key')
  }
  const display = checksumAddress(id)
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  if (!isOneCase && text !== display) {
    return new WalletError(
      'the EIP-55 checksum is wrong: copy the address again, or send it in lower case',
    )
  }
  return { kind: 'evm', id, display }
}

function readEd25519(
  kind: 'solana' | 'near',
  text: string,
  publicKey: Uint8Array | null,
): Wallet | WalletError {
  if (publicKey === null) {
    return new WalletError(
      'a wallet is an EVM address, a Solana address (base58 of 32 bytes) or a NEAR implicit account (64 lower-case hex digits)',
    )
  }
  if (!isUsablePoint(publicKey)) {
    return new WalletError(
      'this ed25519 key has small order or is not canonical, so it has no private key',
    )
  }
  return { kind, id: text, display: text }
}
