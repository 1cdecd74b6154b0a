import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { isUsablePoint } from '../core/ed25519-points.ts'

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
  const der = Buffer.concat([PKCS8_PREFIX, seed])
  return describe(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

export function signingKeyFromPem(pem: string): SigningKey {
  let privateKey: KeyObject
  try {
    privateKey = createPrivateKey(pem)
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
  return sign(null, bytes, key.privateKey)
}

/** The text that a signing key of the service signs to vouch for its successor. */
export function successorText(publicKey: string): string {
  return `service-key-v1\n${publicKey}\n`
}

export function kidOf(publicKey: Uint8Array): string {
  return createHash('sha256').update(publicKey).digest('hex').slice(0, 16)
}

export function publicKeyToBase64(publicKey: Uint8Array): string {
  return Buffer.from(publicKey).toString('base64')
}

/** @throws SigningKeyError for another form or length, and for points of small order */
export function publicKeyFromBase64(text: string): Uint8Array {
  const publicKey = Buffer.from(text, 'base64')
  if (publicKey.length !== 32 || publicKey.toString('base64') !== text) {
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

/** DER of RFC 8410: version, algorithm and seed header. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

function describe(privateKey: KeyObject): SigningKey {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const publicKey = Uint8Array.from(der.subarray(-32))
  return { privateKey, publicKey, kid: kidOf(publicKey) }
}
