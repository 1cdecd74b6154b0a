/**
 * The layout of published sets, which the builder writes and the service reads. In a directory and in a bucket:
 *
 *     o/<sha256>, <sha256>.br, .gz                      bodies and their compressed forms, each under its own hash
 *     g/<fence>-<version>-<sha256>/snapshot.json        the manifest of a set, with .sig (its signature), .br and .gz
 *     facts/<sha256>.jsonl.gz                           the facts of a set, which the next build compares
 *     export/<sha256>/0, 1, …                           the parts of an exported file, which no set contains
 *
 * The newest row of the table `publications` names the current set. For readers without the database:
 *
 *     <directory>/current -> views/<fence>/a            hard links to the files of the current set, by path
 *     <bucket>/current.json                             version and location of the current set
 */
import { z } from 'zod'

import { parseTime } from './time.ts'

export const MANIFEST_PATH = '/snapshot.json'
export const MANIFEST_FILE = 'snapshot.json'
export const MANIFEST_SIGNATURE_FILE = 'snapshot.json.sig'
export const MANIFEST_CONTENT_TYPE = 'application/json'
export const MANIFEST_MAX_AGE_SECONDS = 60
export const CURRENT_LINK = 'current'
export const EXPORT_PREFIX = 'export/'

/** Content codings (RFC 9110 section 8.4.1) with their file suffix, best first. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const satisfies Record<string, string>
export type Encoding = keyof typeof ENCODINGS

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/)
export const timeSchema = z
  .string()
  .refine((text) => parseTime(text) !== null, 'not an RFC 3339 time')
const encodedBody = z.strictObject({ sha256: sha256Hex, size: z.int().min(0) })
export const kidSchema = z.string().regex(/^[0-9a-f]{16}$/)

/** Excludes `..`, percent signs, and hidden names except `.well-known`. */
const DOCUMENT_PATH = /^\/$|^(?:\/(?:\.well-known|[A-Za-z0-9_~-][A-Za-z0-9._~-]*))+$/

const manifestEntrySchema = z
  .strictObject({
    path: z.string().max(512).regex(DOCUMENT_PATH),
    file: z.string().max(520),
    sha256: sha256Hex,
    size: z.int().min(0),
    content_type: z.string().min(3).max(128),
    max_age: z.int().min(0),
    signature: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
    kid: kidSchema,
    changed_at: timeSchema,
    encodings: z.strictObject({ br: encodedBody.optional(), gzip: encodedBody.optional() }),
  })
  .refine((entry) => isFileOf(entry.file, entry.path, entry.content_type), {
    path: ['file'],
    message: 'does not match the path',
  })

/** `/snapshot.json`: every published path, sorted and unique. */
export const manifestSchema = z
  .strictObject({
    site_url: z.string().max(256),
    /** Increases with each manifest. If a version is skipped, `previous` may differ from the last manifest a reader saw. */
    version: z.int().min(1),
    /** SHA-256 of the previous manifest; null for the first. */
    previous: sha256Hex.nullable(),
    computed_at: timeSchema,
    /** After this time a reader should look for a newer manifest. */
    expires: timeSchema,
    count: z.int().min(0),
    documents: z.array(manifestEntrySchema),
    set_sha256: sha256Hex,
  })
  .refine((manifest) => manifest.count === manifest.documents.length, {
    path: ['count'],
    message: 'does not match the number of documents',
  })
  .refine(
    ({ documents }) =>
      documents.every(({ path }, at) => at === 0 || (documents[at - 1]?.path ?? path) < path),
    {
      path: ['documents'],
      message: 'must be sorted by path and contain each path once',
    },
  )

export type ManifestEntry = z.infer<typeof manifestEntrySchema>
export type Manifest = z.infer<typeof manifestSchema>

/** Returns the text hashed for `set_sha256`, in the format of `sha256sum --check`. */
export function manifestSetText(
  documents: readonly Pick<ManifestEntry, 'sha256' | 'file'>[],
): string {
  return documents.map(({ sha256, file }) => `${sha256}  ${file}\n`).join('')
}

/**
 * The file of a path within a set. Paths with an extension keep it; JSON gets `.json` and pages `.html`, since
 * `/api/v1/rails` and `/api/v1/rails/x402` would clash as file and directory.
 * @throws Error if the path is malformed, needs an extension, or is reserved for the published set
 */
export function documentFile(path: string, contentType: string): string {
  const found = findFile(path, contentType)
  if ('problem' in found) throw new Error(`${path} ${found.problem}`)
  return found.file
}

function isFileOf(file: string, path: string, contentType: string): boolean {
  const found = findFile(path, contentType)
  return 'file' in found && found.file === file
}

function findFile(path: string, contentType: string): { file: string } | { problem: string } {
  if (!DOCUMENT_PATH.test(path)) return { problem: 'cannot be published under this path' }
  const suffix = suffixOf(path, contentType)
  if (suffix === null) return { problem: `needs an extension, since it is ${contentType}` }
  const file = path === '/' ? 'index.html' : `${path.slice(1)}${suffix}`
  const reserved = file === MANIFEST_FILE || file === MANIFEST_SIGNATURE_FILE
  if (reserved || Object.values(ENCODINGS).some((ending) => file.endsWith(ending))) {
    return { problem: 'is reserved for files of the published set' }
  }
  return { file }
}

function suffixOf(path: string, contentType: string): string | null {
  if (path.slice(path.lastIndexOf('/')).includes('.')) return ''
  const mediaType = contentType.split(';', 1)[0]?.trim()
  // Structured suffix (RFC 6839), such as `application/linkset+json`.
  if (mediaType === 'application/json' || mediaType?.endsWith('+json') === true) return '.json'
  return mediaType === 'text/html' ? '.html' : null
}

/** A file of a set. `sha256` is the hash of the bytes as they are stored. */
export interface NamedFile {
  readonly file: string
  readonly sha256: string
  readonly size: number
}

/** The documents and their compressed forms. */
export function* filesNamedIn({ documents }: Pick<Manifest, 'documents'>): Generator<NamedFile> {
  for (const { file, sha256: hash, size, encodings } of documents) {
    yield { file, sha256: hash, size }
    for (const encoding of ['br', 'gzip'] as const) {
      const form = encodings[encoding]
      if (form !== undefined) yield { file: encodedFile(file, encoding), ...form }
    }
  }
}

export function bodyKey({ file, sha256 }: Pick<NamedFile, 'file' | 'sha256'>): string {
  const suffix = Object.values(ENCODINGS).find((ending) => file.endsWith(ending)) ?? ''
  return `o/${sha256}${suffix}`
}

/** A part of an exported file with this hash; parts are numbered from 0. */
export function exportPartKey(sha256: string, part: number | ''): string {
  return `${EXPORT_PREFIX}${sha256}/${part}`
}

export function factsKey(sha256: string): string {
  return `facts/${sha256}.jsonl.gz`
}

export function encodedFile(file: string, encoding: Encoding): string {
  return `${file}${ENCODINGS[encoding]}`
}

/** Stale content may be served for five times its lifetime during revalidation (RFC 5861). */
const STALE_WHILE_REVALIDATE_FACTOR = 5
const STALE_IF_ERROR_SECONDS = 86_400

/** `Cache-Control` of files that are named by their hash (RFC 8246). */
export const immutable = 'public, max-age=31536000, immutable'

/** `Cache-Control` (RFC 9111). */
export function cacheControl(maxAgeSeconds: number): string {
  const staleSeconds = maxAgeSeconds * STALE_WHILE_REVALIDATE_FACTOR
  return `public, max-age=${maxAgeSeconds}, stale-while-revalidate=${staleSeconds}, stale-if-error=${STALE_IF_ERROR_SECONDS}`
}

/** Returns a strong `ETag`, which differs for each coding (RFC 9110 section 8.8.3.3). */
export function entityTag(sha256: string, encoding: Encoding | 'identity'): string {
  return encoding === 'identity' ? `"${sha256}"` : `"${sha256}-${encoding}"`
}

export function lastModified(changedAt: string): string {
  const timeMs = parseTime(changedAt)
  if (timeMs === null) throw new Error(`${changedAt} is not an RFC 3339 time`)
  return new Date(timeMs).toUTCString()
}

export function signatureHeader(signature: string): string {
  return `ed25519:${signature}`
}

/** The line in `snapshot.json.sig`: `ed25519:<base64> <kid>`. */
export function formatManifestSignature(signature: string, kid: string): string {
  return `${signatureHeader(signature)} ${kid}\n`
}

const MANIFEST_SIGNATURE = /^ed25519:([A-Za-z0-9+/]{86}==) ([0-9a-f]{16})\n$/

export function parseManifestSignature(text: string): { signature: string; kid: string } | null {
  const [, signature, kid] = MANIFEST_SIGNATURE.exec(text) ?? []
  return signature === undefined || kid === undefined ? null : { signature, kid }
}
