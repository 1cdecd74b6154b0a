import { createHmac, generateKeyPairSync, sign } from 'node:crypto'

import { hashTypedData } from 'viem'
import { describe, expect, test } from 'vitest'

import {
  ArtifactError,
  offerKind,
  publicJwk,
  readArtifact,
  receiptKind,
  signArtifact,
  typedDataHash,
} from '../../src/auth/offer-receipt.ts'
import type { PublicJwk } from '../../src/auth/offer-receipt.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { seller as wallet, sellerSigned, typedDataOf } from '../support/seller.ts'

const seller = signingKeyFromSeed(Buffer.alloc(32, 0x42))
const stranger = signingKeyFromSeed(Buffer.alloc(32, 0x43))
const x = Buffer.from(seller.publicKey).toString('base64url')
const sellerJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x }
const kid = 'did:web:shop.example#key-1'

const offer = {
  version: 1,
  resourceUrl: 'https://shop.example/api/widget',
  scheme: 'exact',
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x1111111111111111111111111111111111111111',
  amount: '10000',
  validUntil: 4_102_444_800,
}
const receipt = {
  version: 1,
  network: 'eip155:8453',
  resourceUrl: offer.resourceUrl,
  payer: '0x2222222222222222222222222222222222222222',
  issuedAt: 1_767_225_600,
  transaction: `0x${'ab'.repeat(32)}`,
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
type SignText = (text: string) => Uint8Array
const byKey = (key: typeof seller): SignText => {
  return (text) => signBytes(key, Buffer.from(text))
}

function jws(payload: object, header: object = { alg: 'EdDSA', kid }, by = byKey(seller)): string {
  const signed = `${encode(header)}.${encode(payload)}`
  return `${signed}.${Buffer.from(by(signed)).toString('base64url')}`
}

const without = (payload: object, name: string) =>
  Object.fromEntries(Object.entries(payload).filter(([member]) => member !== name))

/** Reads a JWS and checks that the key of the seller signed it. @throws ArtifactError */
async function accept(signature: string, kind: 'offer' | 'receipt' = 'offer', key = sellerJwk) {
  const artifact = { format: 'jws', signature } as const
  const read = await (kind === 'offer'
    ? readArtifact(offerKind, artifact)
    : readArtifact(receiptKind, artifact))
  if (read.isSignedBy?.(key) === true) return read.payload
  throw new ArtifactError('another key')
}

/** The cases of the published conformance vectors of the extension, by their names. */
describe('an artifact as JWS', () => {
  test('a signed offer is read, also after its time, and so is a receipt', async () => {
    expect(await accept(jws(offer))).toEqual(offer)
    const late = { ...offer, validUntil: 1_735_689_600 }
    expect(await accept(jws(late))).toEqual(late)
    expect(await accept(jws(receipt), 'receipt')).toEqual(receipt)
  })

  const [header = '', payload = '', signature = ''] = jws(offer).split('.')
  const hs256 = encode({ alg: 'HS256', kid })
  const mac = createHmac('sha256', seller.publicKey).update(`${hs256}.${payload}`).digest()
  test.each([
    ['offer_missing_version', jws(without(offer, 'version')), 'payload of the JWS: version is'],
    ['offer_wrong_key', jws(offer, { alg: 'EdDSA', kid }, byKey(stranger)), 'another key'],
    [
      'offer_tampered_payload',
      `${header}.${encode({ ...offer, amount: '99999' })}.${signature}`,
      'another key',
    ],
    ['offer_alg_none', `${encode({ alg: 'none', kid })}.${payload}.`, 'alg must be one of'],
    ['offer_alg_confusion_hs256', `${hs256}.${payload}.${mac.toString('base64url')}`, 'alg must'],
    ['offer_missing_payTo', jws(without(offer, 'payTo')), 'payTo is missing'],
    ['offer_no_kid', jws(offer, { alg: 'EdDSA' }), 'kid is missing'],
    ['offer_two_segments', `${header}.${payload}`, 'three parts'],
    ['offer_truncated_signature', `${header}.${payload}.${signature.slice(0, 42)}A`, 'another key'],
  ])('%s is refused', async (_, text, problem) => {
    await expect(accept(text)).rejects.toThrow(ArtifactError)
    await expect(accept(text)).rejects.toThrow(problem)
  })

  test('receipt_missing_payer is refused', async () => {
    const text = jws(without(receipt, 'payer'))
    await expect(accept(text, 'receipt')).rejects.toThrow('payer is missing')
  })

  test.each([
    ['version 2', jws({ ...offer, version: 2 }), 'the ledger reads version 1'],
    ['an unknown member', jws({ ...offer, discount: 1 }), 'discount is unknown'],
    ['crit', jws(offer, { alg: 'EdDSA', kid, crit: ['b64'], b64: false }), 'crit must be absent'],
    ['text that is not JSON', 'e30.bm8.e30', 'alg is missing'],
    ['a member twice', `${header}.${Buffer.from('{"a":1,"a":2}').toString('base64url')}.`, 'JSON'],
    ['padding', `${header}=.${payload}.${signature}`, 'base64url without padding'],
    ['an algorithm of another curve', jws(offer, { alg: 'ES256', kid }), 'another key'],
  ])('%s is refused with a plain reason', async (_, text, problem) => {
    await expect(accept(text)).rejects.toThrow(problem)
  })

  test.each([
    ['ES256K', 'secp256k1'],
    ['ES256', 'P-256'],
  ])('an artifact signed with %s is accepted for its key only', async (alg, namedCurve) => {
    const pair = generateKeyPairSync('ec', { namedCurve })
    const jwk = publicJwk.parse(pair.publicKey.export({ format: 'jwk' }))
    const dsaEncoding = 'ieee-p1363'
    const by: SignText = (text) =>
      sign('sha256', Buffer.from(text), { key: pair.privateKey, dsaEncoding })
    const text = jws(receipt, { alg, kid, jwk }, by)
    expect(await accept(text, 'receipt', jwk)).toEqual(receipt)
    await expect(accept(text, 'receipt', { ...jwk, x: jwk.y ?? '' })).rejects.toThrow('another')
    await expect(accept(text, 'receipt')).rejects.toThrow('another')
    const other = { ...jwk, x: jwk.y ?? '', y: jwk.x }
    await expect(
      accept(jws(receipt, { alg, kid, jwk: other }, by), 'receipt', jwk),
    ).rejects.toThrow('another')
  })

  test('what the ledger signs is canonical and can be read', async () => {
    const signed = signArtifact(receipt, kid, (bytes) => signBytes(seller, bytes))
    expect(await accept(signed.signature, 'receipt')).toEqual(receipt)
    const [, content = ''] = signed.signature.split('.')
    expect(Buffer.from(content, 'base64url').toString()).toMatch(/^\{"issuedAt":/)
  })
})

describe('an artifact as EIP-712', () => {
  test.each([
    ['an offer', 'Offer', offerKind, offer, offer],
    [
      'an offer without end',
      'Offer',
      offerKind,
      without(offer, 'validUntil'),
      { ...offer, validUntil: 0 },
    ],
    ['a receipt', 'Receipt', receiptKind, receipt, receipt],
    [
      'a receipt without transaction',
      'Receipt',
      receiptKind,
      without(receipt, 'transaction'),
      { ...receipt, transaction: '' },
    ],
  ] as const)('%s has the hash that viem signs', (_, name, kind, payload, message) => {
    expect(`0x${Buffer.from(typedDataHash(kind, payload)).toString('hex')}`).toBe(
      hashTypedData(typedDataOf(name, message)),
    )
  })

  test('the signer of a receipt is recovered; after a change, another is', async () => {
    const signed = await sellerSigned('Receipt', receipt)
    const { signer } = await readArtifact(receiptKind, signed)
    expect(signer).toBe(wallet.id)
    const changed = { ...signed, payload: { ...receipt, payer: offer.payTo } }
    expect((await readArtifact(receiptKind, changed)).signer).not.toBe(signer)
  })

  test('a signature that no key can make is refused', async () => {
    const signature = `0x${'00'.repeat(65)}`
    const artifact = { format: 'eip712', payload: receipt, signature } as const
    await expect(readArtifact(receiptKind, artifact)).rejects.toThrow('its signature must be 0x')
  })

  test('a payload without a required member is refused, and so is a payload beside a JWS', async () => {
    const signed = await sellerSigned('Receipt', receipt)
    const short = { ...signed, payload: without(receipt, 'payer') }
    await expect(readArtifact(receiptKind, short)).rejects.toThrow('payload: payer is missing')
    const twice = { format: 'jws', signature: jws(receipt), payload: receipt } as const
    await expect(readArtifact(receiptKind, twice)).rejects.toThrow('leave out payload')
  })
})
