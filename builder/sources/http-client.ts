/**
 * The one way an adapter reads over HTTP. Sources are strangers: an answer may be late, endless, inflated, half
 * sent, HTML, or lead elsewhere, and what is said about it in public must not repeat a key.
 */
import { createHash } from 'node:crypto'

import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { redact } from '../../src/core/redact.ts'
import { secondMs } from '../../src/core/time.ts'
import { OversizeError, readLimited } from '../../src/outbound/read-limited.ts'
import { TimeoutError, withTimeout } from '../../src/outbound/timeout.ts'
import { addressOf, redirectTarget } from './http-address.ts'
import { SourceError } from './http.ts'
import type { Http, HttpAnswer, HttpRequest } from './http.ts'

export interface HttpOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  /** Names the project and where to reach it; see `userAgentOf`. */
  readonly userAgent: string
  /** Replaces the origin of every address, path and query kept (`RAIL_BASE_URL_<RAIL>`). */
  readonly baseUrl?: string | undefined
  readonly signal: AbortSignal
  /** Of one attempt, from sending to the last byte. */
  readonly timeoutMs?: number
  /** Counted after inflation. */
  readonly maxBytes?: number
  readonly retries?: number
  readonly onAnswer?: (answer: HttpAnswer) => void
}

const defaultTimeoutMs = 15 * secondMs
const defaultMaxBytes = 16 * 1024 * 1024
const defaultRetries = 2
const maxRedirects = 3
const firstBackoffMs = 500
const maxBackoffMs = 8 * secondMs
/** A source that asks for a longer pause is left alone until the next poll. */
const maxRetryAfterMs = 30 * secondMs

/** `agent-income-ledger/0.1.0 (+https://ledger.example)`: sources can see who reads and whom to ask. */
export function userAgentOf(version: string, siteUrl?: string): string {
  return `agent-income-ledger/${version}${siteUrl === undefined ? '' : ` (+${siteUrl})`}`
}

/** A failure that another attempt may not meet. */
class TransientError extends SourceError {
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null = null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Http over the given fetch. Network errors, time-outs, 429 and 5xx are tried again with full jitter, after
 * `Retry-After` where the source names one (RFC 9110 10.2.3); everything else fails at once with a `SourceError`.
 */
export function createHttp(options: HttpOptions): Http {
  const retries = options.retries ?? defaultRetries
  return {
    json: async (url, request = {}) => {
      const name = `${methodOf(request)} ${addressOf(url, request.secretPath === true)}`
      for (let attempt = 0; ; attempt += 1) {
        try {
          const answer = await attemptJson(options, url, request)
          options.onAnswer?.(answer)
          return answer
        } catch (error) {
          options.signal.throwIfAborted()
          if (!(error instanceof SourceError)) throw error
          const pauseMs = pauseBefore(error, attempt, options.random)
          if (pauseMs === null || attempt >= retries) {
            throw new SourceError(redact(`${name}: ${error.message}`))
          }
          await options.clock.sleep(pauseMs, options.signal)
        }
      }
    },
  }
}

/** Milliseconds to wait before the next attempt; null where another attempt is pointless or unwelcome. */
function pauseBefore(error: SourceError, attempt: number, random: Random): number | null {
  if (!(error instanceof TransientError)) return null
  const jitterMs = random.unit() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt)
  if (error.retryAfterMs === null) return jitterMs
  return error.retryAfterMs > maxRetryAfterMs ? null : error.retryAfterMs + jitterMs
}

async function attemptJson(
  options: HttpOptions,
  url: string,
  request: HttpRequest,
): Promise<HttpAnswer> {
  const { clock, signal, timeoutMs = defaultTimeoutMs } = options
  try {
    return await withTimeout({ timeoutMs, clock, signal }, (limited) =>
      exchange(options, url, request, limited),
    )
  } catch (error) {
    if (error instanceof SourceError) throw error
    if (error instanceof OversizeError) throw new SourceError(error.message)
    throw new TransientError(error instanceof TimeoutError ? error.message : networkReason(error))
  }
}

async function exchange(
  options: HttpOptions,
  url: string,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const response = await follow(options, url, request, signal)
  if (!response.ok) throw await statusError(response, options.clock)
  refuseWrongType(response.headers.get('content-type'))
  const bytes = await readLimited(response, options.maxBytes ?? defaultMaxBytes)
  return {
    url,
    status: response.status,
    body: parseJson(bytes),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.byteLength,
  }
}

/** Sends and follows redirects by hand: a redirect may only stay with the same host family, over https. */
async function follow(
  options: HttpOptions,
  url: string,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  let target = targetOf(url, options.baseUrl)
  for (let hops = 0; ; hops += 1) {
    const response = await options.fetch(target, {
      method: methodOf(request),
      headers: headersOf(options, request),
      redirect: 'manual',
      signal,
      ...(request.json === undefined ? {} : { body: JSON.stringify(request.json) }),
    })
    if (![301, 302, 303, 307, 308].includes(response.status)) return response
    await discard(response)
    if (hops === maxRedirects) throw new SourceError(`more than ${maxRedirects} redirects`)
    if (methodOf(request) === 'POST' && response.status < 307) {
      throw new SourceError(`HTTP ${response.status} redirects a POST`)
    }
    target = redirectTarget(target, response.headers.get('location'))
  }
}

function methodOf(request: HttpRequest): 'GET' | 'POST' {
  return request.json === undefined ? (request.method ?? 'GET') : 'POST'
}

function headersOf(options: HttpOptions, request: HttpRequest): Record<string, string> {
  return {
    accept: 'application/json',
    // Inflation is fetch's own, so a bomb is best not asked for; the limit counts inflated bytes all the same.
    'accept-encoding': 'identity',
    ...(request.json === undefined ? {} : { 'content-type': 'application/json' }),
    ...request.headers,
    'user-agent': options.userAgent,
  }
}

function targetOf(url: string, baseUrl: string | undefined): URL {
  const target = new URL(url)
  if (target.username !== '' || target.password !== '') {
    throw new SourceError('an address with a user part is not read')
  }
  return baseUrl === undefined
    ? target
    : new URL(`${target.pathname}${target.search}`, new URL(baseUrl).origin)
}

async function statusError(response: Response, clock: Clock): Promise<SourceError> {
  await discard(response)
  const text = `HTTP ${response.status}`
  if (response.status !== 429 && response.status < 500) return new SourceError(text)
  const retryAfterMs = retryAfter(response.headers.get('retry-after'), clock)
  if (retryAfterMs === null || retryAfterMs <= maxRetryAfterMs) {
    return new TransientError(text, retryAfterMs)
  }
  const seconds = Math.ceil(retryAfterMs / secondMs)
  return new TransientError(`${text}, asks to come back in ${seconds} s`, retryAfterMs)
}

/** RFC 9110 10.2.3: seconds, or an HTTP date. */
function retryAfter(value: string | null, clock: Clock): number | null {
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

/** NUL characters are removed: one of them in a description has stopped whole ledgers at their database. */
function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes).replaceAll('\0', '')
  if (text.trim() === '') throw new SourceError('answered nothing')
  if (/^\s*<(?:!doctype|html|head|body|\?xml)/i.test(text)) {
    throw new SourceError('answered HTML instead of JSON')
  }
  try {
    const body: unknown = text.includes(String.raw`\u0000`)
      ? JSON.parse(text, (_key, value: unknown) =>
          typeof value === 'string' ? value.replaceAll('\0', '') : value,
        )
      : JSON.parse(text)
    return body
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new SourceError(
      isCutOff(error, text)
        ? `the JSON is cut off after ${bytes.byteLength} bytes`
        : 'the answer is not valid JSON',
      { cause: error },
    )
  }
}

/** Whether the parser got to the end of the text and wanted more. */
function isCutOff(error: SyntaxError, text: string): boolean {
  const position = /at position (\d+)/.exec(error.message)?.[1]
  return /unexpected end|unterminated/i.test(error.message) || Number(position) >= text.length
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new SourceError('the answer is not UTF-8', { cause: error })
  }
}

async function discard(response: Response): Promise<void> {
  // The status is what counts; a body that fails while it is thrown away changes nothing.
  await response.body?.cancel().catch(() => undefined)
}

/** Short words for what fetch throws: its own text names addresses. */
function networkReason(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return 'the connection was refused'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name cannot be resolved'
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') {
    return 'the connection broke off'
  }
  if (code !== null && /CERT|TLS|SSL/.test(code)) return `the connection is not secure (${code})`
  if (code !== null && /HPE_|UND_ERR_(?:RES|RESPONSE)|Z_/.test(code)) {
    return `the answer breaks HTTP (${code})`
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
