import type { RouteId } from '../../src/contract/routes.ts'
import { maxAgeOf, pathOf, routeOf } from '../../src/contract/routes.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world.ts'

/** One family of documents: a pure function of the world. */
export interface SnapshotFamily {
  readonly routes: readonly RouteId[]
  readonly build: (world: World) => Iterable<PublicDocument>
}

/** A contract type as JSON. Optional members are absent where they have no value: the renderer refuses undefined. */
export function asJson(value: object): JsonValue {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod types optional members as `| undefined`
  return value as JsonValue
}

interface JsonOptions {
  readonly params?: Readonly<Record<string, string>>
  /** Adds `computed_at`: the time at which the facts of this document last changed. */
  readonly stamped?: boolean
  /** What the snapshot repository keeps; by default the document itself. Null: not archived. */
  readonly archive?: object | null
}

/** A JSON document of a route. Path and max-age come from the registry. */
export function jsonDocument(
  route: RouteId,
  json: object,
  options: JsonOptions = {},
): PublicDocument {
  return {
    path: pathOf(route, options.params),
    contentType: 'application/json',
    maxAgeSeconds: maxAgeOf(route),
    body: { json: asJson(json), stamp: options.stamped === true ? 'computed_at' : null },
    archive: options.archive === null ? null : asJson(options.archive ?? json),
  }
}

/** A text document of a route; its content type comes from the registry too. */
export function textDocument(
  route: RouteId,
  text: string,
  options: { readonly params?: Readonly<Record<string, string>>; readonly archived?: boolean } = {},
): PublicDocument {
  const contentType = routeOf(route).answers[200]?.contentType
  if (contentType === undefined) throw new Error(`route ${route} has no content type`)
  return {
    path: pathOf(route, options.params),
    contentType,
    maxAgeSeconds: maxAgeOf(route),
    body: { text },
    archive: options.archived === true ? text : null,
  }
}
