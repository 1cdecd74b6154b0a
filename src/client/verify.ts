/** Verifies signed documents and manifests without trusting the service. */
import { z } from 'zod'

import { verifyEd25519 } from '../auth/ed25519.ts'
import { sha256Hex } from '../auth/messages.ts'
import { kidOf, publicKeyOrNull, successorText } from '../auth/signing-key.ts'
import { signingKeys } from '../contract/schemas/service.ts'
import type { SigningKeys } from '../contract/schemas/service.ts'
import { fromBase64 } from '../core/base64.ts'
import { allGood, check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import { manifestSchema, manifestSetText, parseManifestSignature } from '../core/documents.ts'
import type { Manifest, ManifestEntry } from '../core/documents.ts'
import { strictJsonOrNull } from '../core/strict-json.ts'

/** Checks that a key of the service signed exactly these bytes. The prefix `ed25519:` of the signature is optional. */
export async function verifyDocument(
  bytes: Uint8Array,
  signed: Pick<ManifestEntry, 'signature' | 'kid'>,
  keys: SigningKeys,
): Promise<Check> {
  const what = `signature by ${signed.kid}`
  const base64 = signed.signature.replace(/^ed25519:/, '')
  const raw = fromBase64(base64)
  if (raw?.length !== 64) {
    return check(what, false, 'is not base64 of 64 bytes')
  }
  const key = keys.keys.find(({ kid }) => kid === signed.kid)
  if (key === undefined) return check(what, false, 'the key is not listed')
  const publicKey = publicKeyOrNull(key.public_key)
  if (publicKey === null || kidOf(publicKey) !== key.kid) {
    return check(what, false, 'the kid of the listed key does not match its public key')
  }
  const { valid } = verifyEd25519(bytes, raw, publicKey)
  return check(what, valid, valid ? `${key.status} key` : 'the bytes differ from the signed bytes')
}

const noBytes = new Uint8Array()

/** Adds the listed keys that were signed by a trusted key, or by one of the keys added before. */
export function followKeys(trusted: SigningKeys, listed: SigningKeys): SigningKeys {
  const keys = [...trusted.keys]
  // The list starts with the newest key.
  for (const key of listed.keys.toReversed()) {
    const { kid, public_key: publicKey, signature = '' } = key
    const signer = publicKeyOrNull(keys.find((one) => one.kid === key.signed_by)?.public_key ?? '')
    const text = successorText(publicKey)
    const isNew = signer !== null && keys.every((one) => one.kid !== kid)
    if (isNew && verifyEd25519(text, fromBase64(signature) ?? noBytes, signer).valid) keys.push(key)
  }
  return { keys }
}

export function parseSigningKeys(bytes: Uint8Array): SigningKeys | null {
  const parsed = signingKeys.safeParse(strictJsonOrNull(bytes))
  return parsed.success ? parsed.data : null
}

/** `manifest` is null unless signature and `set_sha256` match. `signatureLine` is `ed25519:<base64> <kid>`. */
export async function verifyManifest(
  bytes: Uint8Array,
  signatureLine: string,
  keys: SigningKeys,
): Promise<{ readonly manifest: Manifest | null; readonly checks: readonly Check[] }> {
  const signed = parseManifestSignature(`${signatureLine.trim()}\n`)
  if (signed === null) {
    const malformed = check('signature of the manifest', false, 'is not ed25519:<base64> <kid>')
    return { manifest: null, checks: [malformed] }
  }
  const signature = await verifyDocument(bytes, signed, keys)
  const parsed = manifestSchema.safeParse(strictJsonOrNull(bytes))
  if (!parsed.success) {
    const detail = parsed.error.issues[0]?.message ?? 'is not a manifest'
    return { manifest: null, checks: [signature, check('manifest', false, detail)] }
  }
  const manifest = parsed.data
  const found = sha256Hex(manifestSetText(manifest.documents))
  const isSame = found === manifest.set_sha256
  const checks = [signature, check('manifest', isSame, `set_sha256 is ${found}`)]
  return { manifest: allGood(checks) ? manifest : null, checks }
}

/** The newest manifest that a reader has seen. */
export const seenManifest = z.strictObject({ version: z.int().min(1), sha256: z.string() })
export type SeenManifest = z.infer<typeof seenManifest>

/** Checks that a verified manifest is current: a signature alone is valid for ever. */
export function verifyCurrency(
  bytes: Uint8Array,
  { version, previous, expires }: Manifest,
  { nowMs, seen }: { readonly nowMs: number; readonly seen: SeenManifest | null },
): { readonly checks: readonly Check[]; readonly seen: SeenManifest } {
  const found = { version, sha256: sha256Hex(bytes) }
  const current = check('expires', nowMs < Date.parse(expires), expires)
  if (seen === null) return { checks: [current], seen: found }
  const follows = version === seen.version ? found.sha256 === seen.sha256 : version > seen.version
  const isNext = version === seen.version + 1
  const good = follows && (!isNext || previous === seen.sha256)
  const other = version < seen.version ? 'older than' : 'not a successor of'
  const detail = `version ${version}${good ? '' : ` is ${other} version ${seen.version}, which was seen before`}`
  return { checks: [current, check('version', good, detail)], seen: good ? found : seen }
}

export async function verifyEntry(
  entry: ManifestEntry,
  bytes: Uint8Array | null,
  keys: SigningKeys,
): Promise<Check> {
  const { path, size, sha256 } = entry
  if (bytes === null) return check(path, false, 'is missing')
  if (bytes.length !== size)
    return check(path, false, `has ${bytes.length} bytes instead of ${size}`)
  if (sha256Hex(bytes) !== sha256) return check(path, false, 'has a different SHA-256')
  return { ...(await verifyDocument(bytes, entry, keys)), what: path }
}
