import type { Clock, Fetch } from '../core/deps.ts'
/** Sends what was prepared. Tries again only where the ledger says when. */
import { secondMs } from '../core/time.ts'
import { OversizeError, readLimited } from '../outbound/read-limited.ts'
import { withTimeout } from '../outbound/timeout.ts'
import { LedgerUnreachableError, UnexpectedAnswerError, errorOf } from './errors.ts'
import type { PreparedRequest } from './prepare.ts'

export interface TransportDeps {
  readonly fetch: Fetch
  readonly clock: Pick<Clock, 'sleep'>
  /** For one try. */
  readonly timeoutMs?: number
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

const MOST_TRIES = 4
/** A signature is good for five minutes; whoever is told to wait longer decides anew. */
const LONGEST_WAIT_SECONDS = 60
const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const DEFAULT_TIMEOUT_MS = 30_000

/**
 * The answer with status 200, 201 or 202. A 429 or 503 that says when to come back is waited for, three
 * times and at most a minute each; the same bytes are sent again, so that nothing can happen twice.
 * @throws LedgerError, LedgerUnreachableError, UnexpectedAnswerError
 */
export async function send(deps: TransportDeps, request: PreparedRequest): Promise<RawAnswer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await once(deps, request)
    if (answer.status >= 200 && answer.status <= 202) return answer
    const error = errorOf(answer.status, answer.headers, Buffer.from(answer.bytes).toString('utf8'))
    const waitSeconds = error.retryAfterSeconds
    const mayWait = (error.status === 429 || error.status === 503) && waitSeconds !== null
    if (!mayWait || waitSeconds > LONGEST_WAIT_SECONDS || tries >= MOST_TRIES) throw error
    await deps.clock.sleep(Math.max(1, waitSeconds) * secondMs)
  }
}

async function once(deps: TransportDeps, request: PreparedRequest): Promise<RawAnswer> {
  const { fetch, timeoutMs = DEFAULT_TIMEOUT_MS } = deps
  try {
    return await withTimeout({ timeoutMs }, async (signal) => {
      const response = await fetch(request.url, {
        method: request.method,
        headers: { ...request.headers },
        body: request.body,
        // What is signed for one host is not shown to another.
        redirect: request.signed.length > 0 || request.body !== null ? 'error' : 'follow',
        signal,
      })
      const { status, headers } = response
      return { status, headers, bytes: await readLimited(response, MAX_ANSWER_BYTES) }
    })
  } catch (error) {
    if (error instanceof OversizeError) throw new UnexpectedAnswerError('the answer is too long')
    throw new LedgerUnreachableError(
      `no answer from ${new URL(request.url).origin}: ${reasonOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

/** `fetch` says only that it failed; why stands in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause } = error
  if (cause instanceof Error) {
    return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
  }
  return error.message
}
