import { cacheControl, entityTag, lastModified, signatureHeader } from '../core/documents.ts'
import type { ManifestEntry } from '../core/documents.ts'
import { parseTime } from '../core/time.ts'
import type { Validators } from './conditional.ts'
import { policyHeaders, corsHeaders } from './headers.ts'
import { acceptedCodings } from './negotiate.ts'
import type { Coding } from './negotiate.ts'

/** One coding of a document. Headers are flat lists for `writeHead`. */
export interface Variant extends Validators {
  readonly body: Buffer
  readonly headers: string[]
  readonly notModifiedHeaders: string[]
}

export interface StoredDocument {
  readonly entry: DocumentFacts
  readonly variants: Readonly<Record<Coding, Variant | null>> & { readonly identity: Variant }
  /** The article whose views include the reads of this document. */
  readonly articleSlug: string | null
}

export type DocumentFacts = Pick<
  ManifestEntry,
  'path' | 'sha256' | 'content_type' | 'max_age' | 'signature' | 'kid' | 'changed_at'
>

export interface Bodies {
  readonly identity: Buffer
  readonly br: Buffer | null
  readonly gzip: Buffer | null
}

export function storedDocument(entry: DocumentFacts, bodies: Bodies): StoredDocument {
  const { br, gzip } = bodies
  return {
    entry,
    variants: {
      identity: variant(entry, 'identity', bodies.identity),
      br: br === null ? null : variant(entry, 'br', br),
      gzip: gzip === null ? null : variant(entry, 'gzip', gzip),
    },
    articleSlug: articleSlug(entry.path),
  }
}

function variant(entry: DocumentFacts, coding: Coding, body: Buffer): Variant {
  const etag = entityTag(entry.sha256, coding)
  const modified = lastModified(entry.changed_at)
  const shared = {
    'Cache-Control': cacheControl(entry.max_age),
    ETag: etag,
    'Last-Modified': modified,
    Vary: 'Accept-Encoding',
    ...corsHeaders,
    'X-Signature': signatureHeader(entry.signature),
    'X-Signature-Key': entry.kid,
  }
  const bodyHeaders = {
    'Content-Type': entry.content_type,
    'Content-Length': String(body.byteLength),
    ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
    'X-Content-Type-Options': 'nosniff',
    ...policyHeaders(entry.content_type),
  }
  return {
    body,
    etag,
    lastModified: modified,
    lastModifiedMs: Math.floor((parseTime(entry.changed_at) ?? 0) / 1000) * 1000,
    headers: Object.entries({ ...bodyHeaders, ...shared }).flat(),
    notModifiedHeaders: Object.entries(shared).flat(),
  }
}

/** Returns null if the client accepts no available coding. */
export function chooseVariant(
  document: StoredDocument,
  acceptEncoding: string | undefined,
): Variant | null {
  for (const coding of acceptedCodings(acceptEncoding)) {
    const found = document.variants[coding]
    if (found !== null) return found
  }
  return null
}

/** The page of an article or its Markdown, but not `SKILL.md`. */
const articlePath = /^\/desk\/([a-z0-9]+(?:-[a-z0-9]+)*)(?:\.md)?$/

function articleSlug(path: string): string | null {
  return articlePath.exec(path)?.[1] ?? null
}
