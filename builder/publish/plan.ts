import { sha256Hex } from '../../src/auth/messages.ts'
import type { KeyRing, Signer } from '../../src/auth/service-keys.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { bodyKey, documentFile, encodedFile, manifestSetText } from '../../src/core/documents.ts'
import type { Manifest, ManifestEntry } from '../../src/core/documents.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { memoizeEach, pruneMissing } from '../cache/memoize.ts'
import { compress } from './compress.ts'
import { renderBody } from './document.ts'
import type { DeferredBody, DocumentBody, PublicDocument } from './document.ts'
import type { PastSet } from './past-set.ts'
import { inSlices } from './store/files.ts'
import { filesOfEntry } from './store/store.ts'
import type { Put } from './store/store.ts'

/** The number exceeds that of compression threads, since some documents wait for the disk. */
const RENDERED_AT_ONCE = 16

/** A manifest is renewed at least daily, also when no document has changed. */
const VALID_MS = 2 * dayMs
const RENEWED_BEFORE_MS = dayMs

/** The cache is kept in memory only, since another version of the code may render other bytes. */
export interface RenderCache {
  readonly revisions: Map<string, { readonly revision: string; readonly sha256: string }>
  readonly bodies: WeakMap<
    DocumentBody | DeferredBody,
    { readonly stamp: string; readonly sha256: string }
  >
}

interface Options {
  readonly rendered: RenderCache
  readonly signer: Signer
  readonly ring: KeyRing
  readonly siteUrl: string
  readonly nowMs: number
  /** The version of the manifest if the set changes. */
  readonly version: number
  /** SHA-256 of the previous manifest. */
  readonly previous: string | null
  /** Called as soon as a file exists, to limit memory. */
  readonly put: Put
}

/** Skips documents with unchanged bytes or a published revision. @throws Error for duplicate paths or files */
export async function draftPlan(
  documents: readonly PublicDocument[],
  past: PastSet | null,
  options: Options,
) {
  const before = new Map(past?.manifest.documents.map((entry) => [entry.path, entry]))
  const files = filesOf(documents)
  const reused: ManifestEntry[] = []
  const changed: PublicDocument[] = []
  const damaged: { readonly entry: ManifestEntry; readonly bytes: Uint8Array }[] = []
  await inSlices(documents, (document) => {
    const old = before.get(document.path)
    if (old === undefined || old.file !== files.get(document)) {
      changed.push(document)
      return
    }
    const described = { content_type: document.contentType, max_age: document.maxAgeSeconds }
    const trusted = past?.isOurs === true && options.ring.kids.has(old.kid)
    const isDamaged = past !== null && hasDamage(old, past)
    if (trusted && !isDamaged && isRendered(document, old, options.rendered)) {
      const isDescribed =
        old.content_type === described.content_type && old.max_age === described.max_age
      reused.push(isDescribed ? old : { ...old, ...described })
      return
    }
    const bytes = renderBody(document, old.changed_at)
    if (sha256Hex(bytes) !== old.sha256) {
      changed.push(document)
      return
    }
    remember(document, old.changed_at, old.sha256, options.rendered)
    const entry = { ...old, ...described, ...(!trusted && signatureOf(bytes, options.signer)) }
    if (isDamaged) damaged.push({ entry, bytes })
    else reused.push(entry)
  })
  const rendered = await mapConcurrent(changed, RENDERED_AT_ONCE, async (document) => {
    return await storeForms(newEntry(document, options), options)
  })
  const repaired = await mapConcurrent(damaged, RENDERED_AT_ONCE, (one) => storeForms(one, options))
  const entries = [...reused, ...rendered, ...repaired].sort((a, b) => (a.path < b.path ? -1 : 1))
  const paths = new Set(documents.map(({ path }) => path))
  pruneMissing(options.rendered.revisions, paths)
  const isSame =
    past?.isNewest === true &&
    past.isOurs &&
    past.damaged.size === 0 &&
    past.manifest.site_url === options.siteUrl &&
    Date.parse(past.manifest.expires) - options.nowMs > RENEWED_BEFORE_MS &&
    sameEntries(entries, past.manifest.documents)
  return {
    /** The same object as in the past set if nothing differs. */
    manifest: isSame ? past.manifest : manifestOf(entries, options),
    changed: changed.map(({ path }) => path).sort(),
    removed: [...before.keys()].filter((path) => !paths.has(path)),
    /** Unchanged documents whose damaged files are written again. */
    repaired: repaired.map(({ path }) => path),
    unchanged: documents.length - changed.length,
  }
}

/** @throws Error if two documents would have the same file */
function filesOf(documents: readonly PublicDocument[]): ReadonlyMap<PublicDocument, string> {
  const paths = new Map<string, string>()
  const files = documents.map((document) => {
    const { path, contentType } = document
    const file = documentFile(path, contentType)
    const other = paths.get(file)
    if (other !== undefined)
      throw new Error(`${path} and ${other} would both have the file ${file}`)
    paths.set(file, path)
    return [document, file] as const
  })
  return new Map(files)
}

function hasDamage(entry: ManifestEntry, { damaged }: PastSet): boolean {
  return damaged.size > 0 && filesOfEntry(entry).some(({ key }) => damaged.has(key))
}

function isRendered(
  { path, body }: PublicDocument,
  { sha256: published, changed_at: stamp }: ManifestEntry,
  { revisions, bodies }: RenderCache,
): boolean {
  const same = bodies.get(body)
  if (same !== undefined) return same.stamp === stamp && same.sha256 === published
  const last = revisions.get(path)
  return 'make' in body && last?.revision === body.revision && last.sha256 === published
}

function remember(
  { path, body }: PublicDocument,
  stamp: string,
  hash: string,
  { revisions, bodies }: RenderCache,
): void {
  bodies.set(body, { stamp, sha256: hash })
  if ('make' in body) revisions.set(path, { revision: body.revision, sha256: hash })
}

function newEntry(document: PublicDocument, { signer, nowMs, rendered }: Options) {
  const now = isoTime(nowMs)
  const bytes = renderBody(document, now)
  const entry: ManifestEntry = {
    path: document.path,
    file: documentFile(document.path, document.contentType),
    sha256: sha256Hex(bytes),
    size: bytes.length,
    content_type: document.contentType,
    max_age: document.maxAgeSeconds,
    ...signatureOf(bytes, signer),
    changed_at: now,
    encodings: {},
  }
  remember(document, now, entry.sha256, rendered)
  return { entry, bytes }
}

/** Writes the body and its compressed forms. Returns the entry with the hashes of the forms. */
async function storeForms(
  { entry, bytes }: { readonly entry: ManifestEntry; readonly bytes: Uint8Array },
  { put }: Options,
): Promise<ManifestEntry> {
  const forms = await compress(bytes, entry.content_type)
  const encoded = forms.map(({ encoding, bytes: form }) => {
    const file = encodedFile(entry.file, encoding)
    return { encoding, file, sha256: sha256Hex(form), bytes: form }
  })
  const files = [{ file: entry.file, sha256: entry.sha256, bytes }, ...encoded]
  await Promise.all(files.map((one) => put(bodyKey(one), one.bytes)))
  const hashes = encoded.map((form) => {
    return [form.encoding, { sha256: form.sha256, size: form.bytes.length }] as const
  })
  return { ...entry, encodings: Object.fromEntries(hashes) }
}

function signatureOf(bytes: Uint8Array, signer: Signer): { signature: string; kid: string } {
  return { signature: Buffer.from(signer.sign(bytes)).toString('base64'), kid: signer.kid }
}

function manifestOf(
  documents: ManifestEntry[],
  { siteUrl, nowMs, version, previous }: Options,
): Manifest {
  return {
    site_url: siteUrl,
    version,
    previous,
    expires: isoTime(nowMs + VALID_MS),
    computed_at: isoTime(nowMs),
    count: documents.length,
    documents,
    set_sha256: sha256Hex(manifestSetText(documents)),
  }
}

/** Kept for an entry, which is in every manifest until its document changes. */
const entryBytes = memoizeEach((entry: ManifestEntry) => Buffer.from(canonicalize(entry)))

/** Canonical JSON. */
export function manifestBytes({ documents, ...others }: Manifest): Buffer {
  // No string contains this text, since JSON escapes its quotes.
  const [start = '', end = ''] = canonicalize({ ...others, documents: [] }).split(
    /(?<="documents":\[)/,
  )
  const comma = Buffer.from(',')
  const entries = documents.flatMap((entry) => [comma, entryBytes(entry)]).slice(1)
  return Buffer.concat([Buffer.from(start), ...entries, Buffer.from(end)])
}

function sameEntries(left: readonly ManifestEntry[], right: readonly ManifestEntry[]): boolean {
  return (
    left.length === right.length &&
    left.every((entry, index) => {
      const other = right[index]
      return entry === other || (other !== undefined && entryBytes(entry).equals(entryBytes(other)))
    })
  )
}
