import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'

import { verifyEd25519 } from '../auth/ed25519.ts'
import { sha256Hex } from '../auth/messages.ts'
import { pathOf } from '../contract/routes.ts'
import { signingKeys } from '../contract/schemas/service.ts'
import { mapConcurrent } from '../core/concurrency.ts'
import {
  encodedFile,
  MANIFEST_CONTENT_TYPE,
  MANIFEST_FILE,
  MANIFEST_MAX_AGE_SECONDS,
  MANIFEST_PATH,
  MANIFEST_SIGNATURE_FILE,
  manifestSchema,
  manifestSetText,
  parseManifestSignature,
} from '../core/documents.ts'
import type { Encoding, Manifest, ManifestEntry } from '../core/documents.ts'
import { ObjectStoreError } from '../outbound/object-store.ts'
import { storedDocument } from './documents.ts'
import type { DocumentFacts, StoredDocument } from './documents.ts'
import type { SetPlace } from './published-sets.ts'

export interface DocumentSet {
  readonly documents: ReadonlyMap<string, StoredDocument>
  readonly manifest: Manifest
  /** Paths of documents that are left out, each with its problem. */
  readonly damaged: ReadonlyMap<string, string>
}

/** The message is shown in `/health`, so it contains document paths, never file paths. */
export class BrokenSetError extends Error {
  override readonly name = 'BrokenSetError'
}

const keysPath = pathOf('getSigningKeys')
const decompress = { br: promisify(brotliDecompress), gzip: promisify(gunzip) } as const

const READS_AT_ONCE = 16
/** A set with more damage is refused. */
const MAX_DAMAGED_SHARE = 0.1

/**
 * Reads and verifies a set; reuses documents of `known` that have not changed.
 * Leaves out documents whose file is missing or does not match its hash.
 * @throws BrokenSetError if the manifest is invalid or more than a tenth of the documents is damaged; ObjectStoreError
 */
export async function readDocumentSet(
  read: SetPlace['read'],
  known: ReadonlyMap<string, StoredDocument>,
): Promise<DocumentSet> {
  const manifestBytes = await readOrThrow(read, MANIFEST_FILE, 'the manifest')
  const manifest = parseManifest(manifestBytes)
  const documents = new Map<string, StoredDocument>()
  const damaged = new Map<string, string>()
  await mapConcurrent(manifest.documents, READS_AT_ONCE, async (entry) => {
    const old = known.get(entry.path)
    const isUnchanged = old !== undefined && hasSameFacts(old.entry, entry)
    try {
      documents.set(entry.path, isUnchanged ? old : await readDocument(read, entry, old))
    } catch (error) {
      if (!(error instanceof BrokenSetError)) throw error
      damaged.set(entry.path, error.message)
    }
  })
  const [problem] = damaged.values()
  if (problem !== undefined && damaged.size > manifest.documents.length * MAX_DAMAGED_SHARE) {
    throw new BrokenSetError(problem)
  }
  const keys = documents.get(keysPath)
  documents.set(MANIFEST_PATH, await manifestDocument(read, manifestBytes, manifest, keys))
  return { documents, manifest, damaged }
}

function parseManifest(bytes: Buffer): Manifest {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new BrokenSetError('the manifest is not JSON')
  }
  const parsed = manifestSchema.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new BrokenSetError(
      `the manifest is not valid: ${issue?.path.join('.')} ${issue?.message}`,
    )
  }
  if (sha256Hex(manifestSetText(parsed.data.documents)) !== parsed.data.set_sha256) {
    throw new BrokenSetError('the hash of the set does not match its documents')
  }
  return parsed.data
}

function hasSameFacts(known: DocumentFacts, entry: DocumentFacts): boolean {
  const names = ['sha256', 'signature', 'changed_at', 'kid', 'max_age', 'content_type'] as const
  return names.every((name) => known[name] === entry[name])
}

/** Reuses the bytes if only the headers have changed, as after a key rotation. */
async function readDocument(
  read: SetPlace['read'],
  entry: ManifestEntry,
  old: StoredDocument | undefined,
): Promise<StoredDocument> {
  if (old?.entry.sha256 === entry.sha256) {
    const { identity, br, gzip } = old.variants
    const bodies = { identity: identity.body, br: br?.body ?? null, gzip: gzip?.body ?? null }
    return storedDocument(entry, bodies)
  }
  const verified = async (file: string, hash: string): Promise<Buffer> => {
    const bytes = await readOrThrow(read, file, entry.path, hash)
    if (sha256Hex(bytes) !== hash) throw new BrokenSetError(`${entry.path} does not match its hash`)
    return bytes
  }
  const encoded = async (encoding: Encoding): Promise<Buffer | null> => {
    const form = entry.encodings[encoding]
    return form === undefined ? null : verified(encodedFile(entry.file, encoding), form.sha256)
  }
  return storedDocument(entry, {
    identity: await verified(entry.file, entry.sha256),
    br: await encoded('br'),
    gzip: await encoded('gzip'),
  })
}

/** Detects a damaged manifest, which no hash covers. Readers verify the signature with their own copy of the keys. */
function requireSigned(
  manifest: Buffer,
  { signature, kid }: { readonly signature: string; readonly kid: string },
  keys: StoredDocument | undefined,
): void {
  if (keys === undefined) return
  const parsed = signingKeys.safeParse(JSON.parse(keys.variants.identity.body.toString('utf8')))
  const key = parsed.data?.keys.find((candidate) => candidate.kid === kid)
  if (key === undefined)
    throw new BrokenSetError('the set is signed by a key that it does not publish')
  const publicKey = Buffer.from(key.public_key, 'base64')
  if (!verifyEd25519(manifest, Buffer.from(signature, 'base64'), publicKey).valid) {
    throw new BrokenSetError('the signature does not match the manifest')
  }
}

async function manifestDocument(
  read: SetPlace['read'],
  bytes: Buffer,
  manifest: Manifest,
  keys: StoredDocument | undefined,
): Promise<StoredDocument> {
  const line = await readOrThrow(read, MANIFEST_SIGNATURE_FILE, 'the signature of the set')
  const signed = parseManifestSignature(line.toString('utf8'))
  if (signed === null) throw new BrokenSetError('the signature of the set is malformed')
  requireSigned(bytes, signed, keys)
  const entry: DocumentFacts = {
    path: MANIFEST_PATH,
    sha256: sha256Hex(bytes),
    content_type: MANIFEST_CONTENT_TYPE,
    max_age: MANIFEST_MAX_AGE_SECONDS,
    changed_at: manifest.computed_at,
    ...signed,
  }
  return storedDocument(entry, {
    identity: bytes,
    br: await manifestForm(read, 'br', bytes),
    gzip: await manifestForm(read, 'gzip', bytes),
  })
}

/** Omits a compressed form that does not decompress to the manifest, since no hash covers these files. */
async function manifestForm(
  read: SetPlace['read'],
  encoding: Encoding,
  bytes: Buffer,
): Promise<Buffer | null> {
  try {
    const encoded = await read(encodedFile(MANIFEST_FILE, encoding))
    const plain = await decompress[encoding](encoded, { maxOutputLength: bytes.byteLength })
    return plain.equals(bytes) ? encoded : null
  } catch {
    return null
  }
}

async function readOrThrow(
  read: SetPlace['read'],
  file: string,
  subject: string,
  sha256?: string,
): Promise<Buffer> {
  try {
    return await read(file, sha256)
  } catch (error) {
    if (error instanceof ObjectStoreError) throw error
    throw new BrokenSetError(`${subject} cannot be read`)
  }
}
