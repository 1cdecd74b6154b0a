import type { Clock, Fetch } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'
import { OversizeError, readLimited } from '../outbound/read-limited.ts'
import { withTimeout } from '../outbound/timeout.ts'
import { LedgerError, LedgerUnreachableError, UnexpectedAnswerError, parseError } from './errors.ts'
import type { PreparedRequest } from './prepare.ts'

export interface TransportDeps {
  readonly fetch: Fetch
  readonly clock: Pick<Clock, 'sleep'>
  /** Timeout of one attempt. */
  readonly timeoutMs?: number
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

/** For all waits of a request. A signature is valid for five minutes, so the caller must retry after a longer wait. */
const LONGEST_WAIT_SECONDS = 60
const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const DEFAULT_TIMEOUT_MS = 30_000

/**
 * Resolves with an answer 200, 201 or 202. After a 429 or 503 with `Retry-After` it resends the same bytes.
 * @throws LedgerError, LedgerUnreachableError, UnexpectedAnswerError
 */
export async function send(deps: TransportDeps, request: PreparedRequest): Promise<RawAnswer> {
  for (let waited = 0; ;) {
    const answer = await sendOnce(deps, request)
    if (answer.status >= 200 && answer.status <= 202) return answer
    const error = parseError(answer.status, answer.headers, textOf(answer.bytes))
    const mayWait = error.status === 429 || error.status === 503
    if (!mayWait || error.retryAfterSeconds === null) throw error
    const waitSeconds = Math.max(1, error.retryAfterSeconds)
    waited += waitSeconds
    if (waited > LONGEST_WAIT_SECONDS) throw error
    await deps.clock.sleep(waitSeconds * secondMs)
  }
}

/** @throws LedgerError, LedgerUnreachableError, UnexpectedAnswerError */
export async function sendGet(deps: TransportDeps, url: string): Promise<RawAnswer> {
  return await send(deps, { method: 'GET', url, headers: {}, body: null, signed: [] })
}

/** Null for 404. @throws like `sendGet` */
export async function readIfFound(deps: TransportDeps, url: string): Promise<Uint8Array | null> {
  try {
    return (await sendGet(deps, url)).bytes
  } catch (error) {
    if (error instanceof LedgerError && error.status === 404) return null
    throw error
  }
}

/** @throws LedgerUnreachableError, UnexpectedAnswerError */
export async function sendOnce(deps: TransportDeps, request: PreparedRequest): Promise<RawAnswer> {
  const { fetch, timeoutMs = DEFAULT_TIMEOUT_MS } = deps
  try {
    return await withTimeout({ timeoutMs }, async (signal) => {
      const response = await fetch(request.url, {
        method: request.method,
        headers: { ...request.headers },
        body: request.body,
        // A signature for one host must not be sent to another host.
        redirect: request.signed.length > 0 || request.body !== null ? 'error' : 'follow',
        signal,
      })
      const { status, headers } = response
      return { status, headers, bytes: await readLimited(response, MAX_ANSWER_BYTES) }
    })
  } catch (error) {
    if (error instanceof OversizeError) throw new UnexpectedAnswerError('the answer is too long')
    const { origin } = new URL(request.url)
    throw new LedgerUnreachableError(`no answer from ${origin}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}
