import { canonicalize, isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import { parseTime, secondMs } from '../../src/core/time.ts'

export interface PublicDocument {
  /** Such as `/api/v1/rails`; never `/snapshot.json`. */
  readonly path: string
  readonly contentType: string
  readonly maxAgeSeconds: number
  readonly body: DocumentBody | DeferredBody
  /** Facts for the git archive; null: not archived. */
  readonly archive: JsonValue | string | null
}

/** `stamp`: a top-level member to add with the time at which the facts last changed; `lastUpdated` in Unix seconds. */
export type DocumentBody =
  | { readonly json: JsonValue; readonly stamp: 'computed_at' | 'lastUpdated' | null }
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
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path} cannot be rendered: ${reason}`, { cause: error })
  }
}

function stamped(json: JsonValue, stamp: string | null, stampTime: string): JsonValue {
  if (stamp === null) return json
  if (!isJsonObject(json)) throw new Error(`only an object can contain ${stamp}`)
  const seconds = Math.floor((parseTime(stampTime) ?? 0) / secondMs)
  return { ...json, [stamp]: stamp === 'lastUpdated' ? seconds : stampTime }
}
