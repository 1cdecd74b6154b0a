/** Logs only these fields: no headers, query or body. */
import type { Clock } from '../core/deps.ts'
import type { LineLog } from '../core/log.ts'
import { pathOfTarget } from './gate.ts'

export interface RequestLine {
  readonly requestId: string
  readonly method: string
  readonly target: string
  /** Metric label: the path template, `page` or `unknown`. */
  readonly route: string
  readonly status: number
  readonly startedMs: number
  readonly bytes: number
}

/** Null if requests are not logged. */
export type RequestLog = ((line: RequestLine) => void) | null

const MAX_PATH_LENGTH = 300

export function createRequestLog(log: LineLog, clock: Pick<Clock, 'monotonic'>): RequestLog {
  if (!log.isEnabled('info')) return null
  return ({ requestId, method, target, status, startedMs, bytes }) => {
    log.info('request', {
      request_id: requestId,
      method,
      path: pathOfTarget(target).slice(0, MAX_PATH_LENGTH),
      status,
      ms: Math.round((clock.monotonic() - startedMs) * 100) / 100,
      bytes,
    })
  }
}

export function combineRequestLogs(first: RequestLog, second: RequestLog): RequestLog {
  if (first === null || second === null) return first ?? second
  return (line) => {
    first(line)
    second(line)
  }
}

/** Ids consist of a random prefix per process and a counter. */
export function createRequestIds(randomBytes: Uint8Array): () => string {
  const prefix = Buffer.from(randomBytes).toString('hex')
  let count = 0
  return () => {
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}
