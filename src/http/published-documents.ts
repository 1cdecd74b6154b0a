/** JSON of the published set for code that answers from it: each document is parsed once, when it is first read. */
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import type { Manifest } from '../core/documents.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import type { StoredDocument } from './documents.ts'

export interface PublishedDocuments {
  /** The manifest of the set that is served. @throws ApiError `unavailable` before the first set */
  readonly manifest: () => Manifest
  /** @throws Error where the set lacks the document */
  readonly read: <Id extends RouteId>(id: Id) => AnswerOf<Id>
  /** The same for a path with parameters; null where there is no such document. */
  readonly find: <Id extends RouteId>(
    id: Id,
    params: Readonly<Record<string, string>>,
  ) => AnswerOf<Id> | null
}

export function createPublishedDocuments(
  store: Pick<DocumentStore, 'get' | 'state'>,
): PublishedDocuments {
  // A document that a new set does not change is the same object, and is not parsed again.
  const parsed = new WeakMap<StoredDocument, unknown>()
  const find: PublishedDocuments['find'] = (id, params) => {
    const document = store.get(pathOf(id, params))
    if (document === undefined) return null
    let value = parsed.get(document)
    if (value === undefined) {
      const json: unknown = JSON.parse(document.variants.identity.body.toString('utf8'))
      value = routeOf(id).answers[200]?.schema?.parse(json)
      parsed.set(document, value)
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed by the schema that types it
    return value as AnswerOf<typeof id>
  }
  return {
    find,
    read: (id) => {
      const found = find(id, {})
      if (found === null) throw new Error(`${id} is not in the published set`)
      return found
    },
    manifest: () => {
      const { manifest } = store.state()
      if (manifest === null) throw new ApiError('unavailable', nothingServed(store))
      return manifest
    },
  }
}

/** Computes a value from the published set, once per set. @throws ApiError `unavailable` before the first set */
export function oncePerSet<Value>(
  { manifest }: Pick<PublishedDocuments, 'manifest'>,
  compute: (manifest: Manifest) => Value,
): () => Value {
  let last: { readonly set: string; readonly value: Value } | null = null
  return () => {
    const current = manifest()
    if (last?.set !== current.set_sha256) {
      last = { set: current.set_sha256, value: compute(current) }
    }
    return last.value
  }
}
