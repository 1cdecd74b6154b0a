import type { KeyObject } from 'node:crypto'

import { fromBase64 } from '../core/base64.ts'
import { isUsablePoint } from '../core/ed25519-points.ts'
import {
  privateKeyFromPem,
  privateKeyFromSeed,
  publicKeyOf,
  sha256Hex,
  signWith,
} from './crypto.ts'

export interface SigningKey {
  readonly privateKey: KeyObject
  readonly publicKey: Uint8Array
  readonly kid: string
}

export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError'
}

/** From 32 random bytes (RFC 8032 section 5.1.5). */
export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  if (seed.length !== 32) throw new SigningKeyError('an ed25519 seed has 32 bytes')
  return describe(privateKeyFromSeed(seed))
}

export function signingKeyFromPem(pem: string): SigningKey {
  let privateKey: KeyObject
  try {
    privateKey = privateKeyFromPem(pem)
  } catch {
    throw new SigningKeyError('the key is not a PKCS#8 private key in PEM form')
  }
  if (privateKey.asymmetricKeyType !== 'ed25519')
    throw new SigningKeyError('the key is not ed25519')
  return describe(privateKey)
}

export function signingKeyToPem(key: SigningKey): string {
  return key.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
}

export function signBytes(key: SigningKey, bytes: Uint8Array): Uint8Array {
  return signWith(key.privateKey, bytes)
}

/** The text that a signing key of the service signs to vouch for its successor. */
export function successorText(publicKey: string): string {
  return `service-key-v1\n${publicKey}\n`
}

export function kidOf(publicKey: Uint8Array): string {
  return sha256Hex(publicKey).slice(0, 16)
}

/** @throws SigningKeyError for another form or length, and for points of small order */
export function publicKeyFromBase64(text: string): Uint8Array {
  const publicKey = fromBase64(text)
  if (publicKey?.length !== 32) {
    throw new SigningKeyError('a public key is 32 bytes in padded base64')
  }
  if (!isUsablePoint(publicKey)) throw new SigningKeyError('not a usable ed25519 point')
  return publicKey
}

/** Null if `publicKeyFromBase64` throws. */
export function publicKeyOrNull(text: string): Uint8Array | null {
  try {
    return publicKeyFromBase64(text)
  } catch (error) {
    if (error instanceof SigningKeyError) return null
    throw error
  }
}

function describe(privateKey: KeyObject): SigningKey {
  const publicKey = publicKeyOf(privateKey)
  return { privateKey, publicKey, kid: kidOf(publicKey) }
}
