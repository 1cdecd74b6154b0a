import type { RouteId } from '../../src/contract/routes.ts'
import { maxAgeOf, pathOf, routeOf } from '../../src/contract/routes.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import type { DocumentBody, PublicDocument } from '../publish/document.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { World } from '../world/world.ts'

/** Returns a function for successive worlds that builds again only if a declared part has changed. */
export type SnapshotFamily = () => (world: World) => readonly PublicDocument[]

/** One family of documents: a pure function of some parts of the world. */
export function snapshotFamily<Part extends keyof World>(
  parts: readonly Part[],
  build: (world: Pick<World, NoInfer<Part>>) => Iterable<PublicDocument>,
): SnapshotFamily {
  return () => memoizeByParts(parts, (world) => [...build(world)])
}

/** Casts a contract type to JSON. Optional members must be absent, not undefined. */
export function asJson(value: object): JsonValue {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod types optional members as `| undefined`
  return value as JsonValue
}

interface JsonOptions {
  readonly params?: Params
  /** Adds `computed_at`, the time at which the facts of the document last changed. */
  readonly stamped?: boolean
  /** Archived facts; the document itself by default. Null: not archived. */
  readonly archive?: object | null
}

type Params = Readonly<Record<string, string>>

/** Returns path, content type and max-age of a route's document from the registry. */
export function documentOf(route: RouteId, params?: Params) {
  const contentType = routeOf(route).answers[200]?.contentType ?? 'application/json'
  return { path: pathOf(route, params), contentType, maxAgeSeconds: maxAgeOf(route) }
}

export function jsonDocument(
  route: RouteId,
  json: object,
  options: JsonOptions = {},
): PublicDocument {
  return {
    ...documentOf(route, options.params),
    body: { json: asJson(json), stamp: options.stamped === true ? 'computed_at' : null },
    archive: options.archive === null ? null : asJson(options.archive ?? json),
  }
}

/** The first page of a list, which is the only member of `list`; the total counts all entries. */
export function firstPageDocument(
  route: RouteId,
  list: Readonly<Record<string, readonly object[]>>,
  total: number,
  next: string | null,
  others: object = {},
): PublicDocument {
  const count = Object.values(list).flat().length
  const cursor = next === null ? {} : { next_cursor: next }
  return jsonDocument(route, { count, total, ...list, ...cursor, ...others }, { stamped: true })
}

/** A document that is not archived and not a route of the API. */
export function unarchived(
  path: string,
  contentType: string,
  maxAgeSeconds: number,
  body: PublicDocument['body'],
): PublicDocument {
  return { path, contentType, maxAgeSeconds, body, archive: null }
}

export function plainJson(value: object): DocumentBody {
  return { json: asJson(value), stamp: null }
}

export function textDocument(
  route: RouteId,
  text: string,
  options: { readonly params?: Params; readonly archived?: boolean } = {},
): PublicDocument {
  return {
    ...documentOf(route, options.params),
    body: { text },
    archive: options.archived === true ? text : null,
  }
}
