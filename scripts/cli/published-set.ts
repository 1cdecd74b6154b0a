import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import { UnexpectedAnswerError } from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { readIfFound, sendGet } from '../../src/client/transport.ts'
import type { RawAnswer } from '../../src/client/transport.ts'
import {
  followKeys,
  parseSigningKeys,
  seenManifest,
  verifyCurrency,
  verifyDocument,
  verifyEntry,
  verifyManifest,
} from '../../src/client/verify.ts'
import type { SeenManifest } from '../../src/client/verify.ts'
import { allGood, check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import {
  MANIFEST_FILE,
  MANIFEST_PATH,
  MANIFEST_SIGNATURE_FILE,
  bodyKey,
  encodedFile,
  manifestSchema,
} from '../../src/core/documents.ts'
import type { Manifest, ManifestEntry, NamedFile } from '../../src/core/documents.ts'
import type { Publication } from '../../src/db/publications.ts'
import type { ReadableFiles } from '../../src/files/readable-files.ts'
import { fileExists, readBytes, readJsonObject } from './files.ts'
import { UsageError } from './input.ts'
import type { Session } from './session.ts'

const keysPath = '/.well-known/signing-keys.json'

const proofFile = `${MANIFEST_FILE}.tlog-proof`

export interface PublishedSet {
  readonly manifest: () => Promise<Uint8Array>
  /** `ed25519:<base64> <kid>` */
  readonly signature: () => Promise<string>
  readonly keys: () => Promise<Uint8Array>
  /** Proof that the log contains the manifest (c2sp.org/tlog-proof); null if there is none. */
  readonly proof: () => Promise<string | null>
  readonly document: (entry: ManifestEntry) => Promise<Uint8Array | null>
  /** Null if the source has no compressed files. */
  readonly compressedForm: ((form: BodyName) => Promise<Uint8Array | null>) | null
}

type BodyName = Pick<NamedFile, 'file' | 'sha256'>

export function openDirectory(dir: string): PublishedSet {
  const read = (file: string) => readBytes(join(dir, file))
  const readIfThere = (file: string) => (fileExists(join(dir, file)) ? read(file) : null)
  return {
    manifest: () => Promise.resolve(read(MANIFEST_FILE)),
    signature: () => Promise.resolve(read(MANIFEST_SIGNATURE_FILE).toString('utf8')),
    keys: () => Promise.resolve(read(keysPath.slice(1))),
    proof: () => Promise.resolve(readIfThere(proofFile)?.toString('utf8') ?? null),
    document: ({ file }) => Promise.resolve(readIfThere(file)),
    compressedForm: ({ file }) => Promise.resolve(readIfThere(file)),
  }
}

/** The set of a publication, as the service reads it. */
export function openPublication(
  files: ReadableFiles,
  { location }: Pick<Publication, 'location'>,
): PublishedSet {
  const read = async (key: string) => {
    const found = await files.get(key)
    if (found === null) throw new Error(`${key} is missing`)
    return found.bytes
  }
  const body = async (name: BodyName) => (await files.get(bodyKey(name)))?.bytes ?? null
  const set: PublishedSet = {
    manifest: () => read(`${location}/${MANIFEST_FILE}`),
    signature: async () => (await read(`${location}/${MANIFEST_SIGNATURE_FILE}`)).toString('utf8'),
    keys: async () => {
      const manifest = await readManifest(set)
      const entry = manifest?.documents.find(({ path }) => path === keysPath)
      return entry === undefined ? Buffer.alloc(0) : await read(bodyKey(entry))
    },
    proof: () => Promise.resolve(null),
    document: body,
    compressedForm: body,
  }
  return set
}

export function openSite(session: Session, site = siteUrlOf(session.ledger)): PublishedSet {
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
    proof: async () => {
      const bytes = await readIfFound(session, `${site}/${proofFile}`)
      return bytes === null ? null : Buffer.from(bytes).toString('utf8')
    },
    document: ({ path }) => bytesAt(path),
    compressedForm: null,
  }
}

/** Verifies the manifest with the keys in the file, or with the keys of the set. */
async function openManifest(set: PublishedSet, keysFile: string | undefined) {
  const signature = await set.signature()
  const keys = await readKeys(keysFile, set.keys, signature.trim().split(' ').at(-1))
  return { keys, ...(await verifyManifest(await set.manifest(), signature, keys)) }
}

/** Reads the manifest without verification; null if it is malformed. */
export async function readManifest(set: PublishedSet): Promise<Manifest | null> {
  const text = Buffer.from(await set.manifest()).toString('utf8')
  return manifestSchema.safeParse(JSON.parse(text)).data ?? null
}

type OpenedManifest = Awaited<ReturnType<typeof openManifest>>

interface ManifestReader {
  readonly nowMs: number
  /** File with the newest manifest seen. */
  readonly seenFile: string | undefined
  readonly keysFile: string | undefined
}

/** Verifies signature, expiry and version of the manifest, and records the version if all are valid. */
async function openCurrentManifest(
  set: PublishedSet,
  { nowMs, seenFile, keysFile }: ManifestReader,
): Promise<OpenedManifest> {
  const opened = await openManifest(set, keysFile)
  if (opened.manifest === null) return opened
  const before =
    seenFile === undefined || !fileExists(seenFile) ? null : readSeen(readJsonObject(seenFile))
  const { checks, seen } = verifyCurrency(await set.manifest(), opened.manifest, {
    nowMs,
    seen: before,
  })
  const all = [...opened.checks, ...checks]
  if (seenFile !== undefined && allGood(all)) writeFileSync(seenFile, `${JSON.stringify(seen)}\n`)
  return { ...opened, checks: all }
}

/** @throws UsageError */
function readSeen(value: unknown): SeenManifest {
  const parsed = seenManifest.safeParse(value)
  if (parsed.success) return parsed.data
  throw new UsageError('--seen must name a file that this command wrote')
}

async function verifySet(
  set: PublishedSet,
  { keys, manifest, checks }: OpenedManifest,
): Promise<readonly Check[]> {
  const all = [...checks]
  for (const entry of manifest?.documents ?? []) {
    const found = await verifyEntry(entry, await set.document(entry), keys)
    all.push(found.good ? ((await findBadForm(entry, set)) ?? found) : found)
  }
  return all
}

/** Verifies a set, which may be old, with the keys in it. */
export async function verifyAlone(set: PublishedSet): Promise<readonly Check[]> {
  return await verifySet(set, await openManifest(set, undefined))
}

/** Verifies the manifest and, of its documents, those that `only` selects; fails if it selects none. */
export async function verifyCurrentSet(
  open: () => PublishedSet,
  reader: ManifestReader,
  only?: { readonly name: string; readonly selects: (entry: ManifestEntry) => boolean },
): Promise<readonly Check[]> {
  return await verifyCurrent(open, async (set) => {
    const opened = await openCurrentManifest(set, reader)
    const { manifest } = opened
    if (manifest === null || only === undefined) return await verifySet(set, opened)
    const documents = manifest.documents.filter(only.selects)
    if (documents.length > 0 || [MANIFEST_FILE, MANIFEST_PATH].includes(only.name))
      return await verifySet(set, { ...opened, manifest: { ...manifest, documents } })
    const remedy =
      'Fetch an older document again. Answers to a query and live answers are in no manifest: check their X-Signature as /docs/verifying shows.'
    return [...opened.checks, { ...check(only.name, false, 'is not in the manifest'), remedy }]
  })
}

const MAX_REPLACEMENTS = 5

/** Starts again if a new set replaces the set in the meantime. */
async function verifyCurrent(
  open: () => PublishedSet,
  verify: (set: PublishedSet) => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  for (let replaced = 0; ; replaced += 1) {
    const set = open()
    const before = Buffer.from(await set.manifest())
    const outcome = await verify(set).catch((error: unknown) => ({ error }))
    const isCurrent = before.equals(Buffer.from(await open().manifest()))
    const isFailure = 'error' in outcome
    if (!isFailure && (isCurrent || allGood(outcome))) return outcome
    if (!isCurrent && replaced < MAX_REPLACEMENTS) continue
    if (isFailure) throw outcome.error
    return outcome
  }
}

/** Returns null if all compressed files match. */
async function findBadForm(
  entry: ManifestEntry,
  { compressedForm }: PublishedSet,
): Promise<Check | null> {
  if (compressedForm === null) return null
  for (const encoding of ['br', 'gzip'] as const) {
    const described = entry.encodings[encoding]
    if (described === undefined) continue
    const { sha256 } = described
    const bytes = await compressedForm({ file: encodedFile(entry.file, encoding), sha256 })
    if (bytes !== null && sha256Hex(bytes) === sha256) continue
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
  const [signature, kid] = [headers.get('x-signature'), headers.get('x-signature-key')]
  if (signature === null || kid === null)
    return check('signature', false, 'the answer has no signature')
  const keys = await readKeys(keysFile, fetchKeys, kid)
  return await verifyDocument(bytes, { signature, kid }, keys)
}

/**
 * Returns the keys in the file and, if `kid` is not among them, the published keys that they vouch for; without a file the
 * published keys. @throws UsageError, UnexpectedAnswerError if the file or the set has no keys
 */
async function readKeys(
  keysFile: string | undefined,
  published: () => Promise<Uint8Array>,
  kid: string | undefined,
) {
  const keys = parseSigningKeys(keysFile === undefined ? await published() : readBytes(keysFile))
  if (keys !== null) {
    if (keysFile === undefined || keys.keys.some((key) => key.kid === kid)) return keys
    return followKeys(keys, parseSigningKeys(await published()) ?? keys)
  }
  if (keysFile !== undefined) throw new UsageError(`${keysFile} is not a signing-keys.json`)
  throw new UnexpectedAnswerError(`${keysPath} contains no keys`)
}
