import { canonicalize, isJsonObject, prettySorted } from '../../src/core/canonical-json.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import { documentFile } from '../../src/core/documents.ts'

export interface PublicDocument {
  /** Such as `/api/v1/rails`; never `/snapshot.json`. */
  readonly path: string
  readonly contentType: string
  readonly maxAgeSeconds: number
  readonly body: DocumentBody | DeferredBody
  /** Facts for the git archive; null: not archived. */
  readonly archive: JsonValue | string | null
}

/** `stamp`: a top-level member to add with the time at which the facts last changed. */
export type DocumentBody =
  | { readonly json: JsonValue; readonly stamp: 'computed_at' | null }
  | { readonly text: string }
  | { readonly bytes: Uint8Array }

export interface DeferredBody {
  /** Within one process, bodies of one path and revision differ at most in their stamp. */
  readonly revision: string
  readonly make: () => DocumentBody
}

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
  if (!isJsonObject(json)) throw new Error(`only an object can contain ${stamp}`)
  return { ...json, [stamp]: stampTime }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Facts as pretty-printed JSON with sorted keys. `known` caches texts. */
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
