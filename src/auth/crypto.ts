/** SHA-256 and Ed25519 by OpenSSL. The npm package of the client has `src/client/portable.ts` in its place. */
import { createPrivateKey, createPublicKey, hash, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { memoized } from '../core/remember.ts'

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

/** Does not check the form of signature and key; `verifyEd25519` does. */
export function isSignedBy(
  bytes: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  const key = publicKeyObject(Buffer.from(publicKey).toString('base64url'))
  return verify(null, bytes, key, signature)
}

const publicKeyObject = memoized(
  (x: string) => createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
  1024,
)

/** From 32 random bytes (RFC 8032 section 5.1.5). */
export function privateKeyFromSeed(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, seed])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** Throws unless the text is a private key; it may be of another kind. */
export function privateKeyFromPem(pem: string): KeyObject {
  return createPrivateKey(pem)
}

export function publicKeyOf(privateKey: KeyObject): Uint8Array {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return Uint8Array.from(der.subarray(-32))
}

export function seedOf(privateKey: KeyObject): Uint8Array {
  return Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')
}

export function signWith(privateKey: KeyObject, bytes: Uint8Array): Uint8Array {
  return sign(null, bytes, privateKey)
}

/** DER of RFC 8410: version, algorithm and seed header. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
