/**
 * In the npm package this file replaces what needs Node or WebAssembly: `src/auth/crypto.ts`, `node:timers/promises` and
 * libauth. Slower, and the same on every runtime.
 */
import { getPublicKey, hashes, sign, verify } from '@noble/ed25519'
import { hmac } from '@noble/hashes/hmac'
import { sha256, sha512 } from '@noble/hashes/sha2'
import * as secp256k1 from '@noble/secp256k1'

import { fromBase64 } from '../core/base64.ts'
import { bytesToHex } from '../core/hex.ts'

hashes.sha512 = (message) => Uint8Array.from(sha512(message))
secp256k1.hashes.sha256 = (message) => Uint8Array.from(sha256(message))
secp256k1.hashes.hmacSha256 = (key, message) => Uint8Array.from(hmac(sha256, key, message))

export function sha256Hex(data: string | Uint8Array): string {
  return bytesToHex(sha256(data))
}

export function isSignedBy(
  bytes: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  return verify(signature, bytes, publicKey, { zip215: false })
}

interface PortableKey {
  readonly asymmetricKeyType: 'ed25519'
  readonly seed: Uint8Array
}

export function privateKeyFromSeed(seed: Uint8Array): PortableKey {
  return { asymmetricKeyType: 'ed25519', seed }
}

/** Reads the form that OpenSSL and Node write (RFC 8410, version 1). @throws Error for another form or kind of key */
export function privateKeyFromPem(pem: string): PortableKey {
  const [, base64 = ''] = /^-----BEGIN PRIVATE KEY-----([^-]+)-----END/.exec(pem.trim()) ?? []
  const der = fromBase64(base64.replaceAll(/\s/g, ''))
  const isEd25519 = der !== null && bytesToHex(der.subarray(0, -32)) === PKCS8_PREFIX
  if (!isEd25519) throw new Error('not the PEM of an ed25519 key')
  return privateKeyFromSeed(der.slice(-32))
}

const PKCS8_PREFIX = '302e020100300506032b657004220420'

export function publicKeyOf({ seed }: PortableKey): Uint8Array {
  return getPublicKey(seed)
}

export function seedOf({ seed }: PortableKey): Uint8Array {
  return seed
}

export function signWith({ seed }: PortableKey, bytes: Uint8Array): Uint8Array {
  return sign(bytes, seed)
}

/** The part of libauth that signs. */
export function instantiateSecp256k1() {
  return Promise.resolve({
    validatePrivateKey: (key: Uint8Array) => secp256k1.utils.isValidSecretKey(key),
    derivePublicKeyUncompressed: (key: Uint8Array) => secp256k1.getPublicKey(key, false),
    signMessageHashRecoverableCompact: (key: Uint8Array, hash: Uint8Array) => {
      const format = 'recovered'
      const [recoveryId, ...signature] = secp256k1.sign(hash, key, { prehash: false, format })
      return { recoveryId, signature: Uint8Array.from(signature) }
    },
  })
}

/** As in `node:timers/promises`. */
async function wait(
  delayMs: number,
  _value?: undefined,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('aborted', { cause: signal.reason }))
    })
  })
}

export { wait as setTimeout }
