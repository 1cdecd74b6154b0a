/**
 * Answers of handlers. Every header is given when the answer is made: one that is set afterwards
 * takes Hono's adapter off its fast path and costs four times the request.
 */
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import type { ApiContext } from './context.ts'
import { errorAnswer } from './errors.ts'
import { apiHeaders } from './headers.ts'
import type { ForReader } from './html-pages.ts'

export type CachePolicy = 'no-store' | 'private, no-store' | `public, max-age=${number}`

interface AnswerOptions {
  readonly status?: number
  readonly cache: CachePolicy
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers `body` as JSON. */
export function answerJson(c: ApiContext, body: unknown, options: AnswerOptions): Response {
  return answerText(c, JSON.stringify(body), { ...options, contentType: 'application/json' })
}

/** Answers text or bytes as they are. Limits are told wherever no shared cache can keep them. */
export function answerText(
  c: ApiContext,
  text: string | Uint8Array<ArrayBuffer>,
  options: AnswerOptions & { readonly contentType: string },
): Response {
  const { status = 200, cache, headers, contentType } = options
  c.env.bytes = Buffer.byteLength(text)
  return new Response(text, {
    status,
    headers: {
      ...apiHeaders,
      'Content-Type': contentType,
      // Given, since the answer to a HEAD has no body to count.
      'Content-Length': String(c.env.bytes),
      'Cache-Control': cache,
      'X-Request-Id': c.env.requestId,
      ...(cache.startsWith('public') ? {} : c.env.admission.headers()),
      ...headers,
    },
  })
}

/** Answers the one error body, or the page that people get instead. */
export function answerFailure(
  c: ApiContext,
  failure: Failure,
  { docsUrl, forReader }: { readonly docsUrl: string; readonly forReader: ForReader },
): Response {
  const plain = errorAnswer(failure, docsUrl, c.env.requestId)
  const { status, body, headers } = forReader(c.env.incoming, plain)
  c.env.bytes = Buffer.byteLength(body)
  return new Response(body, { status, headers: { ...c.env.admission.headers(), ...headers } })
}

/**
 * The query parameters of a handler by name.
 * @throws ApiError where one is not in `known`, or stands twice.
 */
export function queryOf<Name extends string>(
  c: ApiContext,
  known: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const found: Partial<Record<Name, string>> = {}
  for (const [name, values] of Object.entries(c.req.queries())) {
    const match = known.find((candidate) => candidate === name)
    if (match === undefined) {
      const listed = known.length === 0 ? 'none' : known.join(', ')
      throw new ApiError(
        'unknown_parameter',
        `${name.slice(0, 100)} is not known; known parameters: ${listed}`,
      )
    }
    if (values.length > 1) {
      throw new ApiError('invalid_input', undefined, {
        issues: [{ path: match, message: 'stands more than once' }],
      })
    }
    found[match] = values[0] ?? ''
  }
  return found
}
