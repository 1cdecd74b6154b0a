import { z } from 'zod'

/** One answer of a route. Errors need no schema of their own: they all have the one error body. */
export interface Answer {
  readonly description: string
  readonly schema?: z.ZodType
  readonly contentType?: string
  /** Types that are answered instead where the query asks for them; bytes, not text. */
  readonly otherTypes?: readonly string[]
  /** A short one, for catalogues. */
  readonly example?: object
}

export interface Parameter {
  readonly schema: z.ZodType
  readonly description: string
  readonly example?: string
}

/** Who may call: as `access` in the specification's table of endpoints. */
export type Access = 'public' | 'signed' | 'partner'

/**
 * How a route is answered. A document is a file of the published generation, served with its max-age and signature;
 * a handler is code of the service.
 */
export type Serving =
  | { readonly kind: 'document'; readonly maxAgeSeconds: number }
  | { readonly kind: 'handler'; readonly cache: 'no-store' | 'private, no-store' }

export interface Route {
  /** The operationId; also the key by which handlers and documents name their route. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Full path below the site, `{name}` for parameters. */
  readonly path: string
  readonly tag: string
  readonly access: Access
  /** USDC for one answer, as a decimal, where the route is sold to whoever no tier covers. */
  readonly price?: string
  /** The same, where the price depends on what is asked for. */
  readonly priceRange?: { readonly min: string; readonly max: string }
  readonly summary: string
  readonly description: string
  readonly params?: Readonly<Record<string, Parameter>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly body?: z.ZodType
  /** A body that it takes. */
  readonly bodyExample?: object
  readonly answers: Readonly<Record<number, Answer>>
  readonly serving: Serving
}

export const apiPrefix = '/api/v1'
/** Answered however busy the service is: it says whether it is. */
export const healthPath = `${apiPrefix}/health`
/** The tools for agents, over the Model Context Protocol. */
export const mcpPath = '/mcp'

/** A JSON answer; the type of its schema is kept, so that the client knows what comes back. */
export function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, schema } satisfies Answer
}

/** An answer that is text of another kind. */
export function text(description: string, contentType: string) {
  return { description, contentType, schema: z.string() } satisfies Answer
}
