/** What the builder publishes: one value per document, rendered here and nowhere else. */
import { canonicalize, isJsonObject, prettySorted } from '../../src/core/canonical-json.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import { documentFile } from '../../src/core/documents.ts'

export interface PublicDocument {
  /** Site path, such as `/api/v1/rails` or `/api/v1/rails/x402/history.csv`; never `/snapshot.json`. */
  readonly path: string
  readonly contentType: string
  readonly maxAgeSeconds: number
  readonly body: DocumentBody | DeferredBody
  /** Facts for the git archive, volatile members removed; null: not archived. */
  readonly archive: JsonValue | string | null
}

/**
 * JSON stands here without its `stamp`, the top-level member that will hold the time at which the
 * facts of the document last changed; null where the document has no such member.
 */
export type DocumentBody =
  | { readonly json: JsonValue; readonly stamp: 'computed_at' | null }
  | { readonly text: string }
  | { readonly bytes: Uint8Array }

/** A body that is made only where it is needed: one of the same revision that is published already is not. */
export interface DeferredBody {
  /** Two bodies of one path and one revision are the same but for their stamp, as long as the process lives. */
  readonly revision: string
  readonly make: () => DocumentBody
}

/**
 * The bytes to serve and to sign: RFC 8785 canonical JSON, UTF-8 text, or bytes as they are.
 * @param stampTime RFC 3339; only JSON with a stamp uses it.
 * @throws CanonicalJsonError naming the path, or Error where a stamp has no object to stand in.
 */
export function renderBody(document: PublicDocument, stampTime: string): Uint8Array {
  const { path } = document
  const body = 'make' in document.body ? document.body.make() : document.body
  if ('bytes' in body) return body.bytes
  if ('text' in body) return Buffer.from(body.text, 'utf8')
  try {
    return Buffer.from(canonicalize(stamped(body.json, body.stamp, stampTime)), 'utf8')
  } catch (error) {
    throw new Error(`${path} cannot be rendered: ${messageOf(error)}`, { cause: error })
  }
}

function stamped(json: JsonValue, stamp: string | null, stampTime: string): JsonValue {
  if (stamp === null) return json
  if (!isJsonObject(json)) throw new Error(`only an object can hold ${stamp}`)
  return { ...json, [stamp]: stampTime }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * The tree of the git archive: file by file the archived facts, JSON pretty-printed with sorted
 * keys, so that a line of a diff is a fact that changed. `known`: texts of documents that were made before.
 */
export function archiveFiles(
  documents: readonly PublicDocument[],
  known: WeakMap<PublicDocument, string> = new WeakMap(),
): Map<string, string> {
  const files = new Map<string, string>()
  for (const document of documents) {
    const { path, contentType, archive } = document
    if (archive === null) continue
    const text =
      typeof archive === 'string' ? archive : (known.get(document) ?? prettySorted(archive))
    known.set(document, text)
    files.set(documentFile(path, contentType), text)
  }
  return files
}
