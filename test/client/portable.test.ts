/** The code of the npm package and that of the service agree. */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

import { instantiateSecp256k1 as instantiateWasm } from '@bitauth/libauth/build/lib/crypto/secp256k1.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import * as service from '../../src/auth/crypto.ts'
import * as portable from '../../src/client/portable.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

test('the package signs and verifies Ed25519 as the service does', () => {
  fc.assert(
    fc.property(bytes(32), fc.uint8Array(), fc.nat(63), (seed, message, at) => {
      const [own, theirs] = [service.privateKeyFromSeed(seed), portable.privateKeyFromSeed(seed)]
      const publicKey = service.publicKeyOf(own)
      const signature = service.signWith(own, message)
      expect(portable.sha256Hex(message)).toBe(service.sha256Hex(message))
      expect(portable.publicKeyOf(theirs)).toEqual(publicKey)
      expect(portable.signWith(theirs, message)).toEqual(Uint8Array.from(signature))
      expect(portable.seedOf(theirs)).toEqual(Uint8Array.from(service.seedOf(own)))
      expect(portable.isSignedBy(message, signature, publicKey)).toBe(true)
      const changed = Uint8Array.from(signature, (byte, index) => (index === at ? byte ^ 1 : byte))
      expect(portable.isSignedBy(message, changed, publicKey)).toBe(false)
    }),
    { numRuns: 20 },
  )
})

test('the package reads the PEM of an ed25519 key, and of no other kind', () => {
  const pemOf = ({ privateKey }: { privateKey: KeyObject }) =>
    privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const pem = pemOf(generateKeyPairSync('ed25519'))
  const seed = service.seedOf(service.privateKeyFromPem(pem))
  expect(portable.privateKeyFromPem(pem).seed).toEqual(Uint8Array.from(seed))
  expect(() => portable.privateKeyFromPem(pemOf(generateKeyPairSync('x25519')))).toThrow(
    'not the PEM of an ed25519 key',
  )
})

test('the package makes the signatures of EVM wallets that the service makes', async () => {
  const [wasm, own] = [await instantiateWasm(), await portable.instantiateSecp256k1()]
  expect(own.validatePrivateKey(new Uint8Array(32))).toBe(false)
  fc.assert(
    fc.property(bytes(32), bytes(32), (key, hash) => {
      expect(own.validatePrivateKey(key)).toBe(wasm.validatePrivateKey(key))
      if (!wasm.validatePrivateKey(key)) return
      expect(own.derivePublicKeyUncompressed(key)).toEqual(wasm.derivePublicKeyUncompressed(key))
      expect(own.signMessageHashRecoverableCompact(key, hash)).toEqual(
        wasm.signMessageHashRecoverableCompact(key, hash),
      )
    }),
    { numRuns: 20 },
  )
})

test('a wait of the package ends early when it is cancelled', async () => {
  const stop = new AbortController()
  const waiting = portable.setTimeout(60_000, undefined, { signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('aborted')
  await portable.setTimeout(1)
})
