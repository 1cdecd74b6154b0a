/** API calls, typed by the route registry and validated before they are sent. */
import { describeIssues } from '../contract/issue-text.ts'
import type { AnswerOf, ParamName, QueryName, SentBody } from '../contract/route-types.ts'
import type { Parameter, Route } from '../contract/route.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import { canonicalize } from '../core/canonical-json.ts'
import { bytesToHex } from '../core/hex.ts'
import { CallError, UnexpectedAnswerError } from './errors.ts'
import { signPartnerHeaders } from './prepare.ts'
import type { Caller, PreparedRequest } from './prepare.ts'
import { signBody } from './sign.ts'
import type { OathText } from './sign.ts'
import { textOf } from './transport.ts'
import type { RawAnswer } from './transport.ts'

const IDEMPOTENCY_KEY_BYTES = 16

/** Without the fields that the client adds when it signs. */
type Unsigned<Body> = Body extends { readonly signature: unknown }
  ? Omit<Body, 'wallet' | 'timestamp' | 'signature' | 'oath_signature'>
  : Body extends { readonly oath_signature: unknown }
    ? Omit<Body, 'timestamp' | 'oath_signature'>
    : Body

type BodyOf<Id extends RouteId> = Unsigned<SentBody<Id>>

type ParamsOf<Id extends RouteId> = [ParamName<Id>] extends [never]
  ? { readonly params?: never }
  : { readonly params: { readonly [Name in ParamName<Id>]: string } }

type QueryOf<Id extends RouteId> = [QueryName<Id>] extends [never]
  ? { readonly query?: never }
  : { readonly query?: { readonly [Name in QueryName<Id>]?: string | undefined } }

interface CallOptions {
  /** An oath of `GET /oaths` that the call signs. */
  readonly oath?: OathText | undefined
  /** The default is random. */
  readonly idempotencyKey?: string | undefined
  /** Base64 of an x402 payment of version 1 or 2. */
  readonly payment?: string | undefined
  /** Signature of the paying wallet over `messages.payment`. */
  readonly payerSignature?: string | undefined
}

interface AnyCallParts extends CallOptions {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  readonly body?: object | undefined
}

export type CallParts<Id extends RouteId> = AnyCallParts &
  ParamsOf<Id> &
  QueryOf<Id> &
  ([BodyOf<Id>] extends [never]
    ? { readonly body?: never }
    : BodyOf<Id> extends Record<string, never>
      ? { readonly body?: BodyOf<Id> }
      : { readonly body: BodyOf<Id> })

export interface Call<Id extends RouteId> {
  readonly route: Id
  readonly request: PreparedRequest
}

/** @throws CallError if a parameter or the body is invalid, or a key is missing */
export async function prepareCall<Id extends RouteId>(
  caller: Caller,
  id: Id,
  parts: AnyCallParts = {},
): Promise<Call<Id>> {
  const route = routeOf(id)
  const { method } = route
  const { params = {}, payment, payerSignature, idempotencyKey } = parts
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(parts.query ?? {})) {
    if (value !== undefined) query[name] = value
  }
  requireFit(route.params, params)
  requireFit(route.query, query)
  const { body, signed } = await bodyToSend(caller, route, { ...parts, params })
  const escaped: Record<string, string> = {}
  for (const [name, value] of Object.entries(params)) escaped[name] = encodeURIComponent(value)
  const path = pathOf(id, escaped)
  const search = new URLSearchParams(query).toString()
  const partner = needsPartner(caller, route)
    ? await signPartnerHeaders(caller, { method, path, body })
    : null
  const newKey = () => bytesToHex(caller.random.bytes(IDEMPOTENCY_KEY_BYTES))
  const request = {
    method,
    url: `${caller.siteUrl}${path}${search === '' ? '' : `?${search}`}`,
    headers: {
      ...(body === null ? {} : { 'Content-Type': 'application/json' }),
      ...(method === 'POST' ? { 'Idempotency-Key': idempotencyKey ?? newKey() } : {}),
      ...(payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment }),
      ...(payerSignature === undefined ? {} : { 'X-Payer-Signature': payerSignature }),
      ...partner?.headers,
    },
    body,
    signed: [...signed, ...(partner === null ? [] : [partner.signed])],
  }
  return { route: id, request }
}

async function bodyToSend(
  caller: Caller,
  { id, body: schema }: Route,
  { params = {}, body = {}, oath }: AnyCallParts,
): Promise<Pick<PreparedRequest, 'body' | 'signed'>> {
  if (schema === undefined) return { body: null, signed: [] }
  const parts = await signBody(caller, id, { params, body, oath })
  const parsed = schema.safeParse(parts.body)
  if (!parsed.success) throw new CallError(describeIssues(parsed.error, parts.body))
  return { ...parts, body: canonicalize(parts.body) }
}

/** Without a key, a priced read is sent unsigned, and the caller pays for it. */
function needsPartner({ signer }: Caller, { access, method, price }: Route): boolean {
  return access === 'partner' && (signer !== null || method !== 'GET' || price === undefined)
}

/** Validates the body of an answer and keeps unknown members. @throws UnexpectedAnswerError */
export function readAnswer<Id extends RouteId>(id: Id, answer: RawAnswer): AnswerOf<Id> {
  const described = routeOf(id).answers[answer.status]
  const text = textOf(answer.bytes)
  const value = described?.contentType === undefined ? parseJson(text, id) : text
  const parsed = described?.schema?.safeParse(value)
  if (parsed?.success === false) {
    const [issue] = parsed.error.issues
    const place = issue?.path.join('.') ?? ''
    throw new UnexpectedAnswerError(`${id}: ${place} ${issue?.message ?? 'is malformed'}`)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked by the schema that types it
  return value as AnswerOf<Id>
}

function parseJson(text: string, id: RouteId): unknown {
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
    const schema = known?.[name]?.schema
    if (schema === undefined) throw new CallError([{ path: name, message: 'is not a parameter' }])
    const parsed = schema.safeParse(value)
    if (parsed.success) continue
    const [issue] = describeIssues(parsed.error, value)
    throw new CallError([{ path: name, message: issue?.message ?? 'is not valid' }])
  }
}
