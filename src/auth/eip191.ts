import type { Secp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1-types.js'
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'

import { bytesToHex, hexToBytes } from '../core/hex.ts'
import { invalid } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

/** One strict form: `0x` and 130 lower-case hex digits, low s, v 27 or 28. `address` is in lower case. */
export async function verifyPersonalSign(
  message: string,
  signature: string,
  address: string,
): Promise<SignatureVerdict> {
  const problem = strictFormProblem(signature)
  if (problem !== null) return invalid(problem)
  const signer = recover(await secp256k1(), personalSignHash(message), signature)
  return signer === address
    ? { valid: true }
    : invalid('the signature is not by this wallet over the expected message')
}

/** Returns the signer in lower case, or null if the signature is not strict or matches no key. */
export async function recoverSigner(hash: Uint8Array, signature: string): Promise<string | null> {
  return strictFormProblem(signature) === null ? recover(await secp256k1(), hash, signature) : null
}

export function personalSignHash(message: string): Uint8Array {
  const encoder = new TextEncoder()
  const { length } = encoder.encode(message)
  return keccak256(encoder.encode(`\x19Ethereum Signed Message:\n${length}${message}`))
}

const STRICT_FORM = /^0x[0-9a-f]{130}$/
const ZERO = '0'.repeat(64)
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
const HALF_ORDER = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

function strictFormProblem(signature: string): string | null {
  if (!STRICT_FORM.test(signature))
    return 'a personal signature is 0x and 130 lower-case hex digits'
  const r = signature.slice(2, 66)
  const s = signature.slice(66, 130)
  const v = signature.slice(130)
  if (v !== '1b' && v !== '1c') return 'v (the last byte) must be 1b or 1c'
  if (r === ZERO || r >= ORDER) return 'r must be between 1 and the order of secp256k1'
  if (s === ZERO || s > HALF_ORDER) return 's must be in the lower half of the order of secp256k1'
  return null
}

function recover(curve: Secp256k1, hash: Uint8Array, signature: string): string | null {
  const rAndS = hexToBytes(signature.slice(2, 130)) ?? new Uint8Array()
  const recoveryId = signature.endsWith('1b') ? 0 : 1
  const publicKey = curve.recoverPublicKeyUncompressed(rAndS, recoveryId, hash)
  if (typeof publicKey === 'string') return null
  return addressOf(publicKey)
}

/** In lower case, of an uncompressed public key. */
export function addressOf(publicKey: Uint8Array): string {
  return `0x${bytesToHex(keccak256(publicKey.subarray(1)).subarray(12))}`
}

/** libsecp256k1 as WebAssembly: ten times as fast as JavaScript. */
let instance: Promise<Secp256k1> | undefined

export function secp256k1(): Promise<Secp256k1> {
  instance ??= instantiate()
  return instance
}

async function instantiate(): Promise<Secp256k1> {
  // libauth's index takes six times as long to load.
  const { instantiateSecp256k1 } = await import('@bitauth/libauth/build/lib/crypto/secp256k1.js')
  return await instantiateSecp256k1()
}
