/** Offers and receipts signed by sellers: the x402 extension `offer-receipt`, version 1, as EIP-712 or compact JWS. */
import { createPublicKey, verify } from 'node:crypto'

import { keccak_256 as keccak256 } from '@noble/hashes/sha3'
import { z } from 'zod'

import { describeIssues } from '../contract/issue-text.ts'
import type { SellerArtifact } from '../contract/schemas/receipt.ts'
import { word } from '../core/abi.ts'
import { canonicalize } from '../core/canonical-json.ts'
import { parseStrictJson, StrictJsonError } from '../core/strict-json.ts'
import { verifyEd25519 } from './ed25519.ts'
import { recoverSigner } from './eip191.ts'
import type { Signer } from './service-keys.ts'

/** The message is for the submitter. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError'
}

interface ArtifactKind<Payload> {
  /** Of the EIP-712 domain. */
  readonly name: string
  /** `encodeType` of EIP-712, the members in order. */
  readonly type: string
  readonly schema: z.ZodType<Payload>
}

const text = z.string().max(2048)
const unixSeconds = z.int().min(0).max(8_640_000_000_000)
const shared = {
  version: z.int().refine((of): boolean => of === 1, 'cannot be read: the ledger reads version 1'),
  network: text,
  resourceUrl: text,
}

// Unknown members are refused, as EIP-712 does not sign them.
export const offerKind = {
  name: 'x402 offer',
  type: 'Offer(uint256 version,string resourceUrl,string scheme,string network,string asset,string payTo,string amount,uint256 validUntil)',
  schema: z.strictObject({
    ...shared,
    scheme: text,
    asset: text,
    payTo: text,
    amount: z.string().regex(/^\d{1,40}$/, 'must be digits: units of the asset'),
    validUntil: unixSeconds.optional(),
  }),
}
export const receiptKind = {
  name: 'x402 receipt',
  type: 'Receipt(uint256 version,string network,string resourceUrl,string payer,uint256 issuedAt,string transaction)',
  schema: z.strictObject({
    ...shared,
    payer: text,
    issuedAt: unixSeconds,
    transaction: text.optional(),
  }),
}

/** A public key of a seller. */
export const publicJwk = z.object({
  kty: z.enum(['OKP', 'EC']),
  crv: z.enum(['Ed25519', 'secp256k1', 'P-256']),
  x: z.string(),
  y: z.string().exactOptional(),
})
export type PublicJwk = z.infer<typeof publicJwk>

export interface Artifact<Payload> {
  readonly payload: Payload
  /** The wallet that signed EIP-712, in lower case, or the `kid` of a JWS. It may be anyone's. */
  readonly signer: string
  /** Null for EIP-712. A key in the header of the JWS must be this key. */
  readonly isSignedBy: ((key: PublicJwk) => boolean) | null
}

/** @throws ArtifactError */
export async function readArtifact<Payload>(
  kind: ArtifactKind<Payload>,
  { format, signature, payload: content }: SellerArtifact,
): Promise<Artifact<Payload>> {
  if (format === 'jws') {
    if (content === undefined) return readJws(kind, signature)
    throw new ArtifactError('jws has its payload in the signature: leave out payload')
  }
  const payload = parsed(kind.schema, content ?? null, 'payload')
  const signer = await recoverSigner(typedDataHash(kind, content ?? {}), signature)
  if (signer !== null) return { payload, signer, isSignedBy: null }
  throw new ArtifactError('its signature must be 0x and 130 lower-case hex digits, by a wallet')
}

const textHash = (text: string) => Buffer.from(keccak256(Buffer.from(text))).toString('hex')
const hashOf = (hex: string) => keccak256(Buffer.from(hex, 'hex'))

/** The chain of the domain is 1 for every network. Absent members are signed as 0 and "". */
export function typedDataHash({ name, type }: ArtifactKind<unknown>, payload: object): Uint8Array {
  const domainType = 'EIP712Domain(string name,string version,uint256 chainId)'
  const domain = textHash(domainType) + textHash(name) + textHash('1') + word('1')
  const members: Readonly<Record<string, unknown>> = { ...payload }
  const words = [...type.matchAll(/(uint256|string) (\w+)/g)].map(([, of, member = '']) => {
    const value = members[member]
    if (of === 'string') return textHash(typeof value === 'string' ? value : '')
    return word(BigInt(typeof value === 'number' ? value : 0).toString(16))
  })
  const hashes = [domain, textHash(type) + words.join('')].map((hex) => hashOf(hex))
  return keccak256(Buffer.concat([Buffer.from('1901', 'hex'), ...hashes]))
}

/** The curve of each algorithm; all others are refused, `none` and HMAC among them. */
const curves = { EdDSA: 'Ed25519', ES256K: 'secp256k1', ES256: 'P-256' } as const

const jwsHeader = z.object({
  alg: z.enum(['EdDSA', 'ES256K', 'ES256']),
  kid: z.string().min(1).max(300),
  jwk: publicJwk.optional(),
  /** RFC 7515: what it lists must be understood. */
  crit: z
    .unknown()
    .refine((list) => list === undefined, 'must be absent')
    .optional(),
})

function readJws<Payload>({ schema }: ArtifactKind<Payload>, jws: string): Artifact<Payload> {
  const parts = jws.split('.')
  const [header = '', content = '', signature = ''] = parts
  if (parts.length !== 3) throw new ArtifactError('a compact JWS has three parts')
  const { alg, kid, jwk } = parsePart(jwsHeader, header, 'header')
  const payload = parsePart(schema, content, 'payload')
  const bytes = bytesOf(signature, 'signature')
  const isSignedBy = (key: PublicJwk) =>
    key.crv === curves[alg] &&
    (jwk === undefined || canonicalize(jwk) === canonicalize(key)) &&
    isSigned(Buffer.from(`${header}.${content}`), bytes, key)
  return { payload, signer: kid, isSignedBy }
}

function bytesOf(base64url: string, what: string): Buffer {
  const bytes = Buffer.from(base64url, 'base64url')
  if (bytes.toString('base64url') === base64url) return bytes
  throw new ArtifactError(`the ${what} of the JWS is not base64url without padding`)
}

function parsePart<Part>(schema: z.ZodType<Part>, base64url: string, what: string): Part {
  const name = `${what} of the JWS`
  try {
    return parsed(schema, parseStrictJson(bytesOf(base64url, what)), name)
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    throw new ArtifactError(`the ${name} is not JSON: ${error.message}`)
  }
}

function parsed<Part>(schema: z.ZodType<Part>, json: unknown, what: string): Part {
  const { error, data } = schema.safeParse(json)
  if (error === undefined) return data
  const problems = describeIssues(error, json).map(({ path, message }) => `${path} ${message}`)
  throw new ArtifactError(`the ${what}: ${problems.join('; ')}`)
}

function isSigned(signed: Buffer, signature: Buffer, jwk: PublicJwk): boolean {
  if (jwk.crv === 'Ed25519') {
    return verifyEd25519(signed, signature, Buffer.from(jwk.x, 'base64url')).valid
  }
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    // The key is no point of its curve.
    return false
  }
}

/** The DID of a site, whose keys are at `/.well-known/did.json`. */
export function didOf(siteUrl: string): string {
  return `did:web:${encodeURIComponent(new URL(siteUrl).host)}`
}

/** The payload as a compact JWS with EdDSA. */
export function signArtifact(payload: object, kid: string, sign: Signer['sign']): SellerArtifact {
  const parts = [{ alg: 'EdDSA', kid }, payload].map((part) =>
    Buffer.from(canonicalize(part)).toString('base64url'),
  )
  const signed = parts.join('.')
  const signature = Buffer.from(sign(Buffer.from(signed))).toString('base64url')
  return { format: 'jws', signature: `${signed}.${signature}` }
}
