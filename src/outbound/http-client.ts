/** Reads JSON over HTTP from sources whose answers may be late, endless, compressed, truncated or redirected. */
import { createHash } from 'node:crypto'

import type { Clock, Fetch, Random } from '../core/deps.ts'
import { redact } from '../core/redact.ts'
import { secondMs } from '../core/time.ts'
import { displayAddress, redirectTarget } from './http-address.ts'
import { SourceError } from './http.ts'
import type { Http, HttpAnswer, HttpRequest } from './http.ts'
import { OversizeError, readLimited } from './read-limited.ts'
import { TimeoutError, withTimeout } from './timeout.ts'

export interface HttpOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  readonly userAgent?: string | undefined
  /** Headers that sign a request to the URL; null for none. */
  readonly sign?: ((target: URL) => Readonly<Record<string, string>>) | null
  /** Replaces the origin of every URL (`RAIL_BASE_URL_<RAIL>`), but not the path and query. */
  readonly baseUrl?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly maxBytes?: number
  /** For all answers of the client together. */
  readonly maxTotalBytes?: number
  readonly retries?: number | undefined
  readonly maxRedirects?: number
}

const defaultTimeoutMs = 15 * secondMs
export const maxAnswerBytes = 16 * 1024 * 1024
const maxErrorBytes = 64 * 1024
/** A poll has one client. The largest real list has about 25 MB. */
const defaultTotalBytes = 32 * 1024 * 1024
const defaultRetries = 2
const defaultRedirects = 3
const firstBackoffMs = 500
const maxBackoffMs = 8 * secondMs
/** If `Retry-After` is longer than this, the request is not repeated before the next poll. */
const maxRetryAfterMs = 30 * secondMs

/** Retries transient failures (network errors, timeouts, 429, 5xx) after `retryPauseMs`. Other failures are final. */
export function createHttp(options: HttpOptions): Http {
  const { clock, random, retries = defaultRetries } = options
  const budget = { bytes: options.maxTotalBytes ?? defaultTotalBytes }
  return {
    json: async (url, request = {}) => {
      const { signal = options.signal } = request
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await attemptJson(options, url, request, budget)
        } catch (error) {
          signal?.throwIfAborted()
          if (!(error instanceof SourceError)) throw error
          const pauseMs = attempt < retries ? retryPauseMs(error, attempt, random) : null
          if (pauseMs === null) {
            const name = request.name ?? `${methodOf(request)} ${displayAddress(url)}`
            throw new SourceError(redact(`${name}: ${error.message}`), error.kind, error)
          }
          await clock.sleep(pauseMs, signal)
        }
      }
    },
  }
}

/** Returns a pause with full jitter after `Retry-After` (RFC 9110, section 10.2.3); null to stop retrying. */
export function retryPauseMs(error: SourceError, attempt: number, random: Random): number | null {
  const retryAfterMs = error.retryAfterMs ?? 0
  if (!error.isTransient || retryAfterMs > maxRetryAfterMs) return null
  return retryAfterMs + random.unit() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt)
}

interface ByteBudget {
  bytes: number
}

async function attemptJson(
  options: HttpOptions,
  url: string,
  request: HttpRequest,
  budget: ByteBudget,
): Promise<HttpAnswer> {
  const { timeoutMs = defaultTimeoutMs } = options
  const { signal = options.signal } = request
  try {
    return await withTimeout({ timeoutMs, signal }, (limited) =>
      exchange(options, url, request, limited, budget),
    )
  } catch (error) {
    if (error instanceof SourceError) throw error
    if (error instanceof OversizeError) throw new SourceError(error.message, 'too large')
    if (error instanceof TimeoutError) throw new SourceError(error.message, 'late')
    throw new SourceError(networkReason(error), 'unreachable')
  }
}

async function exchange(
  options: HttpOptions,
  url: string,
  request: HttpRequest,
  signal: AbortSignal,
  budget: ByteBudget,
): Promise<HttpAnswer> {
  const { response, host } = await follow(options, url, request, signal)
  if (!response.ok) throw await statusError(response, options.clock, request.readsErrors)
  refuseWrongType(response.headers.get('content-type'))
  const maxBytes = Math.min(options.maxBytes ?? maxAnswerBytes, budget.bytes)
  const bytes = await readLimited(response, maxBytes)
  budget.bytes -= bytes.byteLength
  const text = decode(bytes)
  return {
    url,
    body: parseJson(text),
    text,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.byteLength,
    readFrom: host,
    overridden: options.baseUrl !== undefined,
  }
}

/** Follows redirects itself, within the limits of `redirectTarget`. */
async function follow(
  options: HttpOptions,
  url: string,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<{ readonly response: Response; readonly host: string }> {
  const { maxRedirects = defaultRedirects } = options
  let target = targetOf(url, options.baseUrl)
  for (let hops = 0; ; hops += 1) {
    const response = await options.fetch(target, {
      method: methodOf(request),
      headers: { ...headersOf(options, request), ...options.sign?.(target) },
      redirect: 'manual',
      signal,
      ...(request.json === undefined ? {} : { body: JSON.stringify(request.json) }),
    })
    if (![301, 302, 303, 307, 308].includes(response.status)) return { response, host: target.host }
    await discard(response)
    if (hops === maxRedirects) throw new SourceError(`more than ${maxRedirects} redirects`)
    if (methodOf(request) === 'POST' && response.status < 307) {
      throw new SourceError(`HTTP ${response.status} redirects a POST`)
    }
    target = redirectTarget(target, response.headers.get('location'))
  }
}

function methodOf(request: HttpRequest): 'GET' | 'POST' {
  return request.json === undefined ? 'GET' : 'POST'
}

function headersOf(options: HttpOptions, request: HttpRequest): Record<string, string> {
  return {
    accept: 'application/json',
    // Avoids compression bombs, since `fetch` decompresses bodies by itself.
    'accept-encoding': 'identity',
    ...(request.json === undefined ? {} : { 'content-type': 'application/json' }),
    ...request.headers,
    ...(options.userAgent === undefined ? {} : { 'user-agent': options.userAgent }),
  }
}

function targetOf(url: string, baseUrl: string | undefined): URL {
  const target = new URL(url)
  if (target.username !== '' || target.password !== '') {
    throw new SourceError('URLs with a user name are not fetched')
  }
  return baseUrl === undefined
    ? target
    : new URL(`${target.pathname}${target.search}`, new URL(baseUrl).origin)
}

async function statusError(
  response: Response,
  clock: Clock,
  readsBody = false,
): Promise<SourceError> {
  const body = readsBody ? await errorBody(response) : await discard(response)
  const { status } = response
  if (status !== 429 && status < 500) {
    return new SourceError(`HTTP ${status}`, status === 413 ? 'too large' : 'refused', { body })
  }
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock)
  const isLong = retryAfterMs !== null && retryAfterMs > maxRetryAfterMs
  const wish = isLong ? `, requests a pause of ${Math.ceil(retryAfterMs / secondMs)} s` : ''
  return new SourceError(`HTTP ${status}${wish}`, 'unreachable', { retryAfterMs, body })
}

/** Undefined if the body is not JSON or is too long. */
async function errorBody(response: Response): Promise<unknown> {
  return await readLimited(response, maxErrorBytes)
    .then((bytes) => parseJson(decode(bytes)))
    .catch(() => undefined)
}

function parseRetryAfter(value: string | null, clock: Clock): number | null {
  if (value === null) return null
  if (/^\d{1,9}$/.test(value.trim())) return Number(value.trim()) * secondMs
  const dateMs = Date.parse(value)
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - clock.now())
}

const jsonType = /^(?:application\/(?:[\w.+-]+\+)?json|text\/json|text\/plain)\s*(?:;|$)/i

function refuseWrongType(contentType: string | null): void {
  if (contentType === null || jsonType.test(contentType)) return
  if (/html/i.test(contentType)) throw new SourceError('answered HTML instead of JSON')
  throw new SourceError(`answered ${contentType.split(';')[0] ?? ''} instead of JSON`)
}

/** Removes NUL characters, which databases refuse. */
export function parseJson(body: string): unknown {
  const text = body.replace(/^\uFEFF/, '').replaceAll('\0', '')
  if (text.trim() === '') throw new SourceError('the answer is empty')
  if (/^\s*<(?:!doctype|html|head|body|\?xml)/i.test(text)) {
    throw new SourceError('answered HTML instead of JSON')
  }
  try {
    const value: unknown = text.includes(String.raw`\u0000`)
      ? JSON.parse(text, (_key, member: unknown) =>
          typeof member === 'string' ? member.replaceAll('\0', '') : member,
        )
      : JSON.parse(text)
    return value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new SourceError(
      isCutOff(error, text)
        ? `the JSON is cut off after ${Buffer.byteLength(body)} bytes`
        : 'the answer is not valid JSON',
      'malformed',
      { cause: error },
    )
  }
}

function isCutOff(error: SyntaxError, text: string): boolean {
  const position = /at position (\d+)/.exec(error.message)?.[1]
  return /unexpected end|unterminated/i.test(error.message) || Number(position) >= text.length
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new SourceError('the answer is not UTF-8', 'malformed', { cause: error })
  }
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined)
}

/** The error message of `fetch` is not used, since it contains addresses. */
function networkReason(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return 'the connection was refused'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name cannot be resolved'
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') {
    return 'the connection was closed early'
  }
  if (code !== null && /CERT|TLS|SSL/.test(code)) return `the connection is not secure (${code})`
  if (code !== null && /HPE_|UND_ERR_(?:RES|RESPONSE)|Z_/.test(code)) {
    return `the response is not valid HTTP (${code})`
  }
  return code === null ? 'the connection failed' : `the connection failed (${code})`
}

function codeOf(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth += 1) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code
    cause = cause.cause
  }
  return null
}
