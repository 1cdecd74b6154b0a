import { decodeBase58 } from '../core/base58.ts'
import { fromBase64 } from '../core/base64.ts'
import { isUsablePoint } from '../core/ed25519-points.ts'
import { bytesToHex, hexToBytes } from '../core/hex.ts'
import { isSignedBy } from './crypto.ts'
import { invalid } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

/** RFC 8032 section 5.1.7, strict: refuses S at or above the order, non-canonical A or R, and points of small order. */
export function verifyEd25519(
  message: string | Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
): SignatureVerdict {
  const problem = formProblem(signature, publicKey)
  if (problem !== null) return invalid(problem)
  const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message
  return isSignedBy(bytes, signature, publicKey)
    ? { valid: true }
    : invalid('the signature is not by this key over the expected message')
}

/** 64 bytes in base58, padded base64 or lower-case hex (disjoint forms), or null. */
export function decodeEd25519Signature(text: string): Uint8Array | null {
  if (/^[0-9a-f]{128}$/.test(text)) return hexToBytes(text)
  if (BASE64_OF_64_BYTES.test(text)) return fromBase64(text)
  return decodeBase58(text, 64)
}

const BASE64_OF_64_BYTES = /^[A-Za-z0-9+/]{85}[AQgw]==$/

/** L = 2^252 + 27742317777372353535851937790883648493, as big-endian hex. */
const ORDER = '1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed'

function formProblem(signature: Uint8Array, publicKey: Uint8Array): string | null {
  if (!isUsablePoint(publicKey)) return 'the public key is not a usable ed25519 point'
  if (signature.length !== 64) return 'an ed25519 signature has 64 bytes'
  if (!isUsablePoint(signature.subarray(0, 32))) return 'R is of small order or not canonical'
  const s = bytesToHex(signature.subarray(32).toReversed())
  return s < ORDER ? null : 'S is not below the order of the group'
}
