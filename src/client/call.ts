/** One call of a route of the registry: its types come from there, and what is wrong is said before sending. */
import type { z } from 'zod'

import type { Parameter } from '../contract/route.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { RouteId, routes } from '../contract/routes.ts'
import { CallError, UnexpectedAnswerError } from './errors.ts'
import { prepare } from './prepare.ts'
import type { Caller, PartnerForm, PreparedRequest, SignedText } from './prepare.ts'
import type { RawAnswer } from './transport.ts'

type RouteById<Id extends RouteId> = Extract<(typeof routes)[number], { readonly id: Id }>
type GoodAnswers<Id extends RouteId> = RouteById<Id>['answers'][keyof RouteById<Id>['answers'] &
  (200 | 201 | 202)]

/** What a route answers when it does what was asked. */
export type AnswerOf<Id extends RouteId> =
  GoodAnswers<Id> extends { readonly schema: infer Schema extends z.ZodType }
    ? z.infer<Schema>
    : never

/** The body that a route takes. */
export type BodyOf<Id extends RouteId> =
  RouteById<Id> extends { readonly body: infer Schema extends z.ZodType } ? z.input<Schema> : never

/** The names of the query of a route. */
export type QueryOf<Id extends RouteId> =
  RouteById<Id> extends { readonly query: infer Query }
    ? { readonly [Name in keyof Query]?: string | undefined }
    : Readonly<Record<string, never>>

/** A call that is ready to be sent. */
export interface Call<Id extends RouteId> {
  readonly route: Id
  readonly request: PreparedRequest
}

/** How what is sold is paid for, where no tier covers it. */
export interface PayOptions {
  /** Base64 of an x402 payment of either version, for the terms of a `PaymentRequiredError`. */
  readonly payment?: string | undefined
}

export interface CallParts {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: object
  readonly partner?: PartnerForm
  readonly idempotencyKey?: string | undefined
  readonly payment?: string | undefined
  readonly signed?: readonly SignedText[]
}

/** @throws CallError where a parameter or the body is not what the route takes. */
export async function callOf<Id extends RouteId>(
  caller: Caller,
  id: Id,
  parts: CallParts = {},
): Promise<Call<Id>> {
  const route = routeOf(id)
  const { params = {}, body, partner, idempotencyKey, payment, signed } = parts
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(parts.query ?? {})) {
    if (value !== undefined) query[name] = value
  }
  requireFit(route.params, params)
  requireFit(route.query, query)
  if (body !== undefined && route.body !== undefined) requireBody(route.body, body)
  const escaped = Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, encodeURIComponent(value)]),
  )
  const request = await prepare(caller, {
    method: route.method,
    path: pathOf(id, escaped),
    query,
    ...(body === undefined ? {} : { body }),
    ...(partner === undefined ? {} : { partner }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(payment === undefined ? {} : { payment }),
    ...(signed === undefined ? {} : { signed }),
  })
  return { route: id, request }
}

/**
 * The body of an answer as its route describes it. Members that this version does not know are kept.
 * @throws UnexpectedAnswerError
 */
export function readAnswer<Id extends RouteId>(id: Id, answer: RawAnswer): AnswerOf<Id> {
  const described = routeOf(id).answers[answer.status]
  const text = Buffer.from(answer.bytes).toString('utf8')
  const isText = described?.contentType !== undefined
  const value = isText ? text : jsonOf(text, id)
  const parsed = described?.schema?.safeParse(value)
  if (parsed?.success === false) {
    const [issue] = parsed.error.issues
    const place = issue?.path.join('.') ?? ''
    throw new UnexpectedAnswerError(`${id}: ${place} ${issue?.message ?? 'is not as described'}`)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked by the schema that types it
  return value as AnswerOf<Id>
}

function jsonOf(text: string, id: RouteId): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnexpectedAnswerError(`${id}: the answer is not JSON`)
  }
}

function requireFit(
  known: Readonly<Record<string, Parameter>> | undefined,
  given: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(given)) {
    const parsed = known?.[name]?.schema.safeParse(value)
    if (parsed === undefined) throw new CallError(`there is no parameter ${name} here`)
    if (!parsed.success) {
      throw new CallError(`${name}: ${parsed.error.issues[0]?.message ?? 'is not valid'}`)
    }
  }
}

function requireBody(schema: z.ZodType, body: object): void {
  const parsed = schema.safeParse(body)
  if (parsed.success) return
  throw new CallError(
    parsed.error.issues
      .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
      .join('; '),
  )
}
