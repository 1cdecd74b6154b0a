import { canonicalize } from '../../src/core/canonical-json.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { documentFile, encodedFile, manifestSetText } from '../../src/core/documents.ts'
import type { Manifest, ManifestEntry } from '../../src/core/documents.ts'
import { isoTime } from '../../src/core/time.ts'
import { pruneMissing } from '../cache/memoize.ts'
import { compress } from './compress.ts'
import { renderBody } from './document.ts'
import type { DeferredBody, DocumentBody, PublicDocument } from './document.ts'
import { inSlices } from './files.ts'
import type { KeyRing, Signer } from './keys.ts'
import { filesNamedIn, sha256 } from './published-generation.ts'
import type { PublishedGeneration } from './published-generation.ts'

/** The number exceeds that of compression threads, since some documents wait for the disk. */
const RENDERED_AT_ONCE = 16

export interface Plan {
  /** The same object as in the previous generation if nothing differs. */
  readonly manifest: Manifest
  readonly reusedFiles: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
}

/** The cache is kept in memory only, since another version of the code may render other bytes. */
export interface RenderCache {
  readonly revisions: Map<string, { readonly revision: string; readonly sha256: string }>
  readonly bodies: WeakMap<
    DocumentBody | DeferredBody,
    { readonly stamp: string; readonly sha256: string }
  >
}

export function emptyRenderCache(): RenderCache {
  return { revisions: new Map(), bodies: new WeakMap() }
}

interface Options {
  readonly rendered: RenderCache
  readonly signer: Signer
  readonly ring: KeyRing
  readonly nowMs: number
  /** Called as soon as a file exists, to limit memory. */
  readonly store: (file: string, bytes: Uint8Array) => Promise<void>
}

/** Skips documents with unchanged bytes or a published revision. @throws Error for duplicate paths or files */
export async function draftPlan(
  documents: readonly PublicDocument[],
  past: PublishedGeneration | null,
  options: Options,
): Promise<Plan> {
  const before = new Map(past?.manifest.documents.map((entry) => [entry.path, entry]))
  const files = filesOf(documents)
  const reused: ManifestEntry[] = []
  const changed: PublicDocument[] = []
  await inSlices(documents, (document) => {
    const old = before.get(document.path)
    if (old === undefined || old.file !== files.get(document)) {
      changed.push(document)
      return
    }
    const described = { content_type: document.contentType, max_age: document.maxAgeSeconds }
    const trusted = past?.isOurs === true && options.ring.kids.has(old.kid)
    if (trusted && isRendered(document, old, options.rendered)) {
      const isDescribed =
        old.content_type === described.content_type && old.max_age === described.max_age
      reused.push(isDescribed ? old : { ...old, ...described })
      return
    }
    const bytes = renderBody(document, old.changed_at)
    if (sha256(bytes) !== old.sha256) {
      changed.push(document)
      return
    }
    remember(document, old.changed_at, old.sha256, options.rendered)
    reused.push({ ...old, ...described, ...(!trusted && signatureOf(bytes, options.signer)) })
  })
  const rendered = await mapConcurrent(changed, RENDERED_AT_ONCE, async (document) => {
    const { entry, forms } = await renderNew(document, options)
    for (const { file, bytes } of forms) await options.store(file, bytes)
    return entry
  })
  const entries = [...reused, ...rendered].sort((a, b) => (a.path < b.path ? -1 : 1))
  const paths = new Set(documents.map(({ path }) => path))
  pruneMissing(options.rendered.revisions, paths)
  const isSame = past?.isOurs === true && sameEntries(entries, past.manifest.documents)
  return {
    manifest: isSame ? past.manifest : manifestOf(entries, options.nowMs),
    reusedFiles: isSame ? [] : [...filesNamedIn({ documents: reused })].map(({ file }) => file),
    changed: changed.map(({ path }) => path).sort(),
    removed: [...before.keys()].filter((path) => !paths.has(path)),
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

async function renderNew(document: PublicDocument, { signer, nowMs, rendered }: Options) {
  const now = isoTime(nowMs)
  const file = documentFile(document.path, document.contentType)
  const bytes = renderBody(document, now)
  const forms = await compress(bytes, document.contentType)
  const entry: ManifestEntry = {
    path: document.path,
    file,
    sha256: sha256(bytes),
    size: bytes.length,
    content_type: document.contentType,
    max_age: document.maxAgeSeconds,
    ...signatureOf(bytes, signer),
    changed_at: now,
    encodings: Object.fromEntries(
      forms.map((form) => [form.encoding, { sha256: sha256(form.bytes), size: form.bytes.length }]),
    ),
  }
  remember(document, now, entry.sha256, rendered)
  const encoded = forms.map((form) => ({ ...form, file: encodedFile(file, form.encoding) }))
  return { entry, forms: [{ file, bytes }, ...encoded] }
}

function signatureOf(bytes: Uint8Array, signer: Signer): { signature: string; kid: string } {
  return { signature: Buffer.from(signer.sign(bytes)).toString('base64'), kid: signer.kid }
}

function manifestOf(documents: ManifestEntry[], nowMs: number): Manifest {
  return {
    computed_at: isoTime(nowMs),
    count: documents.length,
    documents,
    set_sha256: sha256(Buffer.from(manifestSetText(documents), 'utf8')),
  }
}

function sameEntries(left: readonly ManifestEntry[], right: readonly ManifestEntry[]): boolean {
  return (
    left.length === right.length &&
    left.every((entry, index) => {
      const other = right[index]
      return entry === other || canonicalize(entry) === canonicalize(other ?? null)
    })
  )
}
