/** Parsed documents of the published set; each is parsed once, on first use. */
import { ApiError } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import type { Manifest } from '../core/documents.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import type { StoredDocument } from './documents.ts'
import { suggestion } from './similar-paths.ts'

export interface PublishedDocuments {
  /** @throws ApiError `unavailable` before the first set */
  readonly manifest: () => Manifest
  /** @throws Error if the set does not contain the document, ApiError `unavailable` if its file is damaged */
  readonly read: <Id extends RouteId>(id: Id) => AnswerOf<Id>
  readonly find: <Id extends RouteId>(
    id: Id,
    params: Readonly<Record<string, string>>,
  ) => AnswerOf<Id> | null
  /** Empty before the first set. */
  readonly paths: () => readonly string[]
  /** @throws ApiError `unavailable` if the file is damaged */
  readonly text: (path: string) => PublishedText | null
  readonly suggestion: (
    code: ErrorCode,
    id: RouteId,
    params: Readonly<Record<string, string>>,
  ) => string | undefined
}

interface PublishedText {
  readonly text: string
  readonly contentType: string
}

export function createPublishedDocuments(
  store: Pick<DocumentStore, 'get' | 'state'>,
): PublishedDocuments {
  // An unchanged document is the same object in the next set.
  const parsed = new WeakMap<StoredDocument, unknown>()
  const stored = (path: string): StoredDocument | undefined => {
    if (store.state().damaged.has(path)) throw new ApiError('unavailable', nothingServed(store))
    return store.get(path)
  }
  const textOf = ({ variants }: StoredDocument) => variants.identity.body.toString('utf8')
  const find: PublishedDocuments['find'] = (id, params) => {
    const document = stored(pathOf(id, params))
    if (document === undefined) return null
    let value = parsed.get(document)
    if (value === undefined) {
      const json: unknown = JSON.parse(textOf(document))
      value = routeOf(id).answers[200]?.schema?.parse(json)
      parsed.set(document, value)
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed by the schema that types it
    return value as AnswerOf<typeof id>
  }
  return {
    find,
    paths: () => store.state().manifest?.documents.map(({ path }) => path) ?? [],
    text(path) {
      const document = stored(path)
      if (document === undefined) return null
      return { text: textOf(document), contentType: document.entry.content_type }
    },
    suggestion: (code, id, params) => suggestion(code, store, pathOf(id, params), routeOf(id).path),
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

/** Memoizes a value per published set. @throws ApiError `unavailable` before the first set */
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
