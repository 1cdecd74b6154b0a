import { join } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import { UnexpectedAnswerError } from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { sendGet } from '../../src/client/transport.ts'
import type { RawAnswer } from '../../src/client/transport.ts'
import {
  parseSigningKeys,
  verifyDocument,
  verifyEntry,
  verifyManifest,
} from '../../src/client/verify.ts'
import { allGood, check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import {
  MANIFEST_FILE,
  MANIFEST_PATH,
  MANIFEST_SIGNATURE_FILE,
  encodedFile,
  manifestSchema,
} from '../../src/core/documents.ts'
import type { Manifest, ManifestEntry } from '../../src/core/documents.ts'
import { fileExists, readBytes } from './files.ts'
import { UsageError } from './input.ts'
import type { Session } from './session.ts'

const keysPath = '/.well-known/signing-keys.json'

export interface PublishedSet {
  readonly manifest: () => Promise<Uint8Array>
  /** `ed25519:<base64> <kid>` */
  readonly signature: () => Promise<string>
  readonly keys: () => Promise<Uint8Array>
  readonly document: (entry: ManifestEntry) => Promise<Uint8Array | null>
  /** Null if the source has no compressed files. */
  readonly compressedForm: ((file: string) => Uint8Array | null) | null
}

export function openDirectory(dir: string): PublishedSet {
  const read = (file: string) => readBytes(join(dir, file))
  const readIfThere = (file: string) => (fileExists(join(dir, file)) ? read(file) : null)
  return {
    manifest: () => Promise.resolve(read(MANIFEST_FILE)),
    signature: () => Promise.resolve(read(MANIFEST_SIGNATURE_FILE).toString('utf8')),
    keys: () => Promise.resolve(read(keysPath.slice(1))),
    document: ({ file }) => Promise.resolve(readIfThere(file)),
    compressedForm: readIfThere,
  }
}

export function openSite(session: Session): PublishedSet {
  const site = siteUrlOf(session.ledger)
  const bytesAt = async (path: string) => (await sendGet(session, `${site}${path}`)).bytes
  let manifest: Promise<RawAnswer> | undefined
  const getManifest = () => (manifest ??= sendGet(session, `${site}${MANIFEST_PATH}`))
  return {
    manifest: async () => (await getManifest()).bytes,
    signature: async () => {
      const { headers } = await getManifest()
      return `${headers.get('x-signature') ?? ''} ${headers.get('x-signature-key') ?? ''}`
    },
    keys: () => bytesAt(keysPath),
    document: ({ path }) => bytesAt(path),
    compressedForm: null,
  }
}

/** Verifies the manifest with the keys in the file, or with the keys of the set. */
export async function openManifest(set: PublishedSet, keysFile: string | undefined) {
  const keys = await readKeys(keysFile, set.keys)
  return { keys, ...(await verifyManifest(await set.manifest(), await set.signature(), keys)) }
}

/** Reads the manifest without verification; null if it is malformed. */
export async function readManifest(set: PublishedSet): Promise<Manifest | null> {
  const text = Buffer.from(await set.manifest()).toString('utf8')
  return manifestSchema.safeParse(JSON.parse(text)).data ?? null
}

/** Returns two checks of the manifest, then one check of each document. */
async function verifySet(set: PublishedSet, keysFile?: string): Promise<readonly Check[]> {
  const { keys, manifest, checks } = await openManifest(set, keysFile)
  const all = [...checks]
  for (const entry of manifest?.documents ?? []) {
    const found = await verifyEntry(entry, await set.document(entry), keys)
    all.push(found.good ? (findBadForm(entry, set) ?? found) : found)
  }
  return all
}

/** Verifies a directory with the keys in it. */
export async function verifyDirectory(dir: string): Promise<readonly Check[]> {
  return await verifySet(openDirectory(dir))
}

const MAX_REPLACEMENTS = 5

/** Verifies a set, and starts again if a new set replaces it meanwhile. */
export async function verifyCurrentSet(
  open: () => PublishedSet,
  keysFile: string | undefined,
): Promise<readonly Check[]> {
  for (let replaced = 0; ; replaced += 1) {
    const set = open()
    const before = Buffer.from(await set.manifest())
    const outcome = await verifySet(set, keysFile).catch((error: unknown) => ({ error }))
    const isCurrent = before.equals(Buffer.from(await open().manifest()))
    const isFailure = 'error' in outcome
    if (!isFailure && (isCurrent || allGood(outcome))) return outcome
    if (!isCurrent && replaced < MAX_REPLACEMENTS) continue
    if (isFailure) throw outcome.error
    return outcome
  }
}

/** Returns null if all compressed files match. */
function findBadForm(entry: ManifestEntry, { compressedForm }: PublishedSet): Check | null {
  if (compressedForm === null) return null
  for (const encoding of ['br', 'gzip'] as const) {
    const described = entry.encodings[encoding]
    if (described === undefined) continue
    const bytes = compressedForm(encodedFile(entry.file, encoding))
    if (bytes !== null && sha256Hex(bytes) === described.sha256) continue
    const detail = `the ${encoding} form ${bytes === null ? 'is missing' : 'has a different SHA-256'}`
    return check(entry.path, false, detail)
  }
  return null
}

/** Verifies the signature of an answer with the keys in the file, or with the keys of the site. */
export async function verifyAnswer(
  session: Session,
  { headers, bytes }: RawAnswer,
  { origin, keysFile }: { readonly origin: string; readonly keysFile: string | undefined },
): Promise<Check> {
  const fetchKeys = async () => (await sendGet(session, `${origin}${keysPath}`)).bytes
  const keys = await readKeys(keysFile, fetchKeys)
  const [signature, kid] = [headers.get('x-signature'), headers.get('x-signature-key')]
  if (signature === null || kid === null)
    return check('signature', false, 'the answer has no signature')
  return await verifyDocument(bytes, { signature, kid }, keys)
}

/** @throws UsageError, UnexpectedAnswerError if the file or the set has no keys */
async function readKeys(keysFile: string | undefined, published: () => Promise<Uint8Array>) {
  const keys = parseSigningKeys(keysFile === undefined ? await published() : readBytes(keysFile))
  if (keys !== null) return keys
  if (keysFile !== undefined) throw new UsageError(`${keysFile} is not a signing-keys.json`)
  throw new UnexpectedAnswerError(`${keysPath} contains no keys`)
}
