import { createPublicKey, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { decodeBase58 } from '../core/base58.ts'
import { isUsablePoint } from '../core/ed25519-points.ts'
import { invalid } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

/**
 * Checks an ed25519 signature (RFC 8032 section 5.1.7, strict) by a key of 32 bytes.
 *
 * Refused before any curve arithmetic: S not below the order, A or R not in canonical form, and the
 * small-order points as A or R. What is left is judged by OpenSSL's equation without the cofactor:
 * what holds there holds with the cofactor too, so a strict reader of the other kind, such as noble
 * without ZIP-215, accepts whatever is accepted here. The published vectors show it for each of them.
 */
export function verifyEd25519(
  message: string | Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
): SignatureVerdict {
  const problem = formProblem(signature, publicKey)
  if (problem !== null) return invalid(problem)
  const bytes = typeof message === 'string' ? Buffer.from(message) : message
  return verify(null, bytes, publicKeyObject(publicKey), signature)
    ? { valid: true }
    : invalid('the signature is not by this key over the expected message')
}

/**
 * The 64 bytes of a signature in base58 (64 to 88 characters), base64 (88, padded) or lower-case hex
 * (128, no prefix), or null. No text is a signature in two of them.
 */
export function decodeEd25519Signature(text: string): Uint8Array | null {
  if (/^[0-9a-f]{128}$/.test(text)) return Buffer.from(text, 'hex')
  if (BASE64_OF_64_BYTES.test(text)) return Buffer.from(text, 'base64')
  return decodeBase58(text, 64)
}

/** A key of 32 raw bytes as node:crypto takes it. The point is not checked. */
export function publicKeyObject(publicKey: Uint8Array): KeyObject {
  const x = Buffer.from(publicKey).toString('base64url')
  const kept = keyObjects.get(x)
  if (kept !== undefined) return kept
  const made = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  if (keyObjects.size >= MAX_KEY_OBJECTS) keyObjects.clear()
  keyObjects.set(x, made)
  return made
}

/** Platforms and workers sign again and again with the same keys. */
const keyObjects = new Map<string, KeyObject>()
const MAX_KEY_OBJECTS = 1024

/** The last digit before the padding carries 4 unused bits, which must be zero: one form only. */
const BASE64_OF_64_BYTES = /^[A-Za-z0-9+/]{85}[AQgw]==$/

/** L = 2^252 + 27742317777372353535851937790883648493, as big-endian hex. */
const ORDER = '1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed'

function formProblem(signature: Uint8Array, publicKey: Uint8Array): string | null {
  if (!isUsablePoint(publicKey)) return 'the public key is not a usable ed25519 point'
  return strictFormProblem(signature)
}

function strictFormProblem(signature: Uint8Array): string | null {
  if (signature.length !== 64) return 'an ed25519 signature has 64 bytes'
  if (!isUsablePoint(signature.subarray(0, 32))) return 'R is of small order or not canonical'
  const s = Buffer.from(signature.subarray(32)).reverse().toString('hex')
  return s < ORDER ? null : 'S is not below the order of the group'
}
