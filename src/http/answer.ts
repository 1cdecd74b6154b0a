// Sets all headers when a response is created. A later change disables the fast path of Hono's adapter (4x slower).
import { invalidField } from '../actions/signed-body.ts'
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import type { ApiContext } from './context.ts'
import type { ErrorRenderer } from './error-pages.ts'
import { errorAnswer } from './errors.ts'
import { apiHeaders } from './headers.ts'

export type CachePolicy = 'no-store' | 'private, no-store' | `public, max-age=${number}`

interface AnswerOptions {
  readonly status?: number
  readonly cache: CachePolicy
  readonly headers?: Readonly<Record<string, string>>
}

/** Includes the rate limit headers unless a shared cache may store the response. */
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
      // Set explicitly, since the response to HEAD has no body to measure.
      'Content-Length': String(c.env.bytes),
      'Cache-Control': cache,
      'X-Request-Id': c.env.requestId,
      ...(cache.startsWith('public') ? {} : c.env.admission.headers()),
      ...headers,
    },
  })
}

export function answerFailure(
  c: ApiContext,
  failure: Failure,
  { docsUrl, renderError }: { readonly docsUrl: string; readonly renderError: ErrorRenderer },
): Response {
  const plain = errorAnswer(failure, docsUrl, c.env.requestId)
  const { status, body, headers } = renderError(c.env.incoming, plain)
  c.env.bytes = Buffer.byteLength(body)
  return new Response(body, { status, headers: { ...c.env.admission.headers(), ...headers } })
}

/** @throws ApiError if a parameter is unknown or repeated */
export function queryOf<Name extends string>(
  c: ApiContext,
  known: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const found: Partial<Record<Name, string>> = {}
  for (const [name, value] of new URL(c.req.url).searchParams) {
    const match = known.find((candidate) => candidate === name)
    if (match === undefined) {
      const names = known.length === 0 ? 'none' : known.join(', ')
      const shown = name === '' ? 'A parameter without a name' : name.slice(0, 100)
      throw new ApiError('unknown_parameter', `${shown} is unknown; known parameters: ${names}`)
    }
    if (found[match] !== undefined) throw invalidField(match, 'is given more than once')
    found[match] = value
  }
  return found
}
