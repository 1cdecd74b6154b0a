import { z } from 'zod'

import { errorCodes } from './errors.ts'
import type { ErrorCode } from './errors.ts'

/** One answer of a route. Errors need no schema: they share the error body. */
export interface Answer {
  readonly description: string
  /** The error code of a 404; `not_found` by default. */
  readonly code?: ErrorCode
  readonly schema?: z.ZodType
  readonly contentType?: string
  /** Binary content types that the query may select. */
  readonly otherTypes?: readonly string[]
}

export interface Parameter {
  readonly schema: z.ZodType
  readonly description: string
  readonly example?: string
}

/** Describes a parameter. Keeps the type of the schema for the client. */
export function parameter<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  example: string,
) {
  return { schema, description, example } satisfies Parameter
}

export type Access = 'public' | 'signed' | 'partner'

/** A document is a published file with max-age and signature; a handler is code of the service. */
export type Serving =
  | { readonly kind: 'document'; readonly maxAgeSeconds: number }
  | { readonly kind: 'handler'; readonly cache: 'no-store' | 'private, no-store' }

/** A route without its id. */
export interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Full path, with `{name}` for parameters. */
  readonly path: string
  readonly tag: string
  readonly access: Access
  /** USDC per answer, as a decimal, for callers without a covering tier. */
  readonly price?: string
  /** What is sold, for catalogues: one sentence. */
  readonly offer?: string
  /** Limits of a price that depends on the request. */
  readonly priceRange?: { readonly min: string; readonly max: string }
  readonly summary: string
  readonly description: string
  readonly params?: Readonly<Record<string, Parameter>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly body?: z.ZodType
  /** The text that the signature in the body covers, with `<service>` and the names of the values. */
  readonly signs?: string
  readonly answers: Readonly<Record<number, Answer>>
  readonly serving: Serving
}

export interface Route extends RouteFacts {
  /** The operationId; also the key of handlers and documents. */
  readonly id: string
}

/** True for a fixed price and for one that depends on the request. */
export function takesPayment(route: Pick<RouteFacts, 'price' | 'priceRange'>): boolean {
  return route.price !== undefined || route.priceRange !== undefined
}

export const apiPrefix = '/api/v1'
/** Exempt from load limits, since it reports the load. */
export const healthPath = `${apiPrefix}/health`
/** Model Context Protocol. */
export const mcpPath = '/mcp'

/** True for documents, and for successful answers of the API that are neither images nor only state that the service runs. */
export function hasSignature({ path, serving, answers }: RouteFacts): boolean {
  if (serving.kind === 'document') return true
  const isImage = answers[200]?.contentType?.startsWith('image/') === true
  return path.startsWith(`${apiPrefix}/`) && path !== healthPath && !isImage
}

/** Describes a JSON answer. Keeps the type of the schema for the client. */
export function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, schema } satisfies Answer
}

export function text(description: string, contentType: string) {
  return { description, contentType, schema: z.string() } satisfies Answer
}

export function notFound(code: ErrorCode, description = `${errorCodes[code].message}.`) {
  return { description, code } satisfies Answer
}

type OwnFacts = Omit<RouteFacts, 'method' | 'tag' | 'access' | 'serving'>
type Exact<Facts> = Facts & Record<Exclude<keyof Facts, keyof OwnFacts>, never>

/** Creates the routes of one tag; each function adds the parts that all routes of its kind share. */
export function routesOf(tag: string) {
  const publicRead = { method: 'GET', tag, access: 'public' } as const
  return {
    document: <const Facts extends OwnFacts>(maxAgeSeconds: number, facts: Exact<Facts>) => {
      const serving = { kind: 'document', maxAgeSeconds } as const
      return { ...publicRead, ...facts, serving }
    },
    /** A public read of the database. */
    live: <const Facts extends OwnFacts>(facts: Exact<Facts>) => {
      const serving = { kind: 'handler', cache: 'no-store' } as const
      return { ...publicRead, ...facts, serving }
    },
    handler: <
      const Method extends Route['method'],
      const Limited extends Access,
      const Facts extends OwnFacts,
    >(
      method: Method,
      access: Limited,
      facts: Exact<Facts>,
    ) => {
      const serving = { kind: 'handler', cache: 'private, no-store' } as const
      return { method, tag, access, ...facts, serving }
    },
  }
}
