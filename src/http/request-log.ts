/** One line per request. Only what is listed here is logged: no header, no query, no body. */
import type { Clock } from '../core/deps.ts'
import type { LineLog } from '../core/log.ts'

export interface RequestLine {
  readonly requestId: string
  readonly method: string
  /** The raw target; its query is cut off. */
  readonly target: string
  /** The path template of the route, `page` or `unknown`; for the metrics. */
  readonly route: string
  readonly status: number
  readonly startedMs: number
  /** Bytes of the body. */
  readonly bytes: number
}

/** Writes the line of a finished request; null where such lines are not written at all. */
export type RequestLog = ((line: RequestLine) => void) | null

const MAX_PATH_LENGTH = 300

export function createRequestLog(log: LineLog, clock: Pick<Clock, 'monotonic'>): RequestLog {
  if (!log.isEnabled('info')) return null
  return ({ requestId, method, target, status, startedMs, bytes }) => {
    const mark = target.indexOf('?')
    const path = mark === -1 ? target : target.slice(0, mark)
    log.info('request', {
      request_id: requestId,
      method,
      path: path.slice(0, MAX_PATH_LENGTH),
      status,
      ms: Math.round((clock.monotonic() - startedMs) * 100) / 100,
      bytes,
    })
  }
}

/** Tells both of every finished request; null where nobody wants to know. */
export function toBoth(first: RequestLog, second: RequestLog): RequestLog {
  if (first === null || second === null) return first ?? second
  return (line) => {
    first(line)
    second(line)
  }
}

/** Ids that are unique over processes and cheap: a random prefix of the process and a count. */
export function createRequestIds(randomBytes: Uint8Array): () => string {
  const prefix = Buffer.from(randomBytes).toString('hex')
  let count = 0
  return () => {
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}
