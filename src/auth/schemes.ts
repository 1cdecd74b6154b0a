import { walletPublicKey } from '../core/wallet.ts'
import type { Wallet, WalletKind } from '../core/wallet.ts'
import { checkHere, ed25519Check } from './check.ts'
import type { CheckSignature } from './check.ts'
import { verifyContractSignature } from './contract-wallet.ts'
import type { WalletChain } from './contract-wallet.ts'
import { decodeEd25519Signature } from './ed25519.ts'
import { invalid } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface SignatureClaim {
  readonly message: string
  readonly signature: string
  readonly wallet: Wallet
  /** Required to accept contract wallets. */
  readonly chain?: WalletChain
  readonly check?: CheckSignature
}

type Scheme = (claim: SignatureClaim) => Promise<SignatureVerdict>

export const schemes = {
  evm: verifyEvm,
  solana: verifyEd25519Wallet,
  near: verifyEd25519Wallet,
} as const satisfies Record<WalletKind, Scheme>

/** @throws SchemeUnavailableError if only the chain can decide and it did not respond */
export async function verifySignature(claim: SignatureClaim): Promise<SignatureVerdict> {
  return schemes[claim.wallet.kind](claim)
}

/** The address's own key needs no chain: contracts have no known key, and with EIP-7702 the key can replace the code. */
async function verifyEvm(claim: SignatureClaim): Promise<SignatureVerdict> {
  const { message, signature, wallet, chain, check = checkHere } = claim
  const plain = await check({ scheme: 'eip191', message, signature, address: wallet.id })
  if (plain.valid || chain === undefined) return plain
  return verifyContractSignature(message, signature, wallet.id, chain)
}

async function verifyEd25519Wallet(claim: SignatureClaim): Promise<SignatureVerdict> {
  const publicKey = walletPublicKey(claim.wallet)
  const signature = decodeEd25519Signature(claim.signature)
  if (publicKey === null || signature === null) {
    return invalid('an ed25519 signature is 64 bytes in base58, base64 or lower-case hex')
  }
  const { message, check = checkHere } = claim
  return await check(ed25519Check(message, signature, publicKey))
}
