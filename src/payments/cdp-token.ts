/** Tokens for the facilitator of the Coinbase Developer Platform: one JWT (RFC 7519) for each request. */
import { createPrivateKey, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { z } from 'zod'

import { signingKeyFromSeed } from '../auth/signing-key.ts'
import type { Clock, Random } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'

interface TokenDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'bytes'>
}

export interface CdpKey {
  readonly id: string
  readonly privateKey: KeyObject
}

const LIFE_SECONDS = 120

export function createCdpTokens({ id, privateKey: key }: CdpKey, { clock, random }: TokenDeps) {
  const isEd25519 = key.asymmetricKeyType === 'ed25519'
  return (method: string, { host, pathname }: URL): string => {
    const now = Math.floor(clock.now() / secondMs)
    const nonce = Buffer.from(random.bytes(16)).toString('hex')
    const header = { alg: isEd25519 ? 'EdDSA' : 'ES256', kid: id, typ: 'JWT', nonce }
    const claims = {
      sub: id,
      iss: 'cdp',
      aud: ['cdp_service'],
      uris: [`${method} ${host}${pathname}`],
      iat: now,
      nbf: now,
      exp: now + LIFE_SECONDS,
    }
    const signed = [header, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const options = { key, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign(isEd25519 ? null : 'sha256', Buffer.from(signed), options)
    return `${signed}.${signature.toString('base64url')}`
  }
}

/** The secret as the platform issues it: base64 of an Ed25519 seed and its public key, or PEM, with lines or with `\n`. */
export const cdpSecret = z.string().transform((secret, context) => {
  try {
    return secret.includes('-----') ? fromPem(secret) : fromBase64(secret)
  } catch {
    // The message may contain a part of the secret.
    context.addIssue('must be the secret of an Ed25519 or ES256 key')
    return z.NEVER
  }
})

function fromPem(secret: string): KeyObject {
  const key = createPrivateKey(secret.replaceAll(String.raw`\n`, '\n'))
  const { namedCurve } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType !== 'ed25519' && namedCurve !== 'prime256v1') throw new RangeError()
  return key
}

function fromBase64(secret: string): KeyObject {
  const bytes = Buffer.from(secret, 'base64')
  const { privateKey, publicKey } = signingKeyFromSeed(bytes.subarray(0, 32))
  if (!bytes.subarray(32).equals(publicKey)) throw new RangeError()
  return privateKey
}
