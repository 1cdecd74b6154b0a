/** Limits over rows that are kept anyway: they hold across a restart, and in the transaction of the write. */
import { ApiError } from '../contract/errors.ts'
import { isoTime, secondMs } from '../core/time.ts'

export interface Quota {
  /** Stands in the `RateLimit` headers. */
  readonly name: string
  readonly quota: number
  readonly windowMs: number
  /** What is limited, for people: `Over 5 entries of feedback an hour`. */
  readonly details: string
}

/** From when on rows count, exclusive. */
export function windowStart({ windowMs }: Quota, nowMs: number): string {
  return isoTime(nowMs - windowMs)
}

/**
 * `times` of what came since `windowStart`, oldest first.
 * @throws ApiError `rate_limited` with the time until one of them leaves the window.
 */
export function enforceQuotaOfTimes(limit: Quota, times: readonly string[], nowMs: number): void {
  enforceQuota(limit, times[times.length - limit.quota] ?? null, nowMs)
}

/**
 * `nthLast`: when the last but `quota - 1` came, where that is in the window.
 * @throws ApiError `rate_limited` with the time until it leaves the window.
 */
export function enforceQuota(limit: Quota, nthLast: string | null, nowMs: number): void {
  if (nthLast === null) return
  const waitMs = Math.max(secondMs, Date.parse(nthLast) + limit.windowMs - nowMs)
  const seconds = Math.ceil(waitMs / secondMs)
  throw new ApiError('rate_limited', limit.details, {
    headers: {
      'Retry-After': String(seconds),
      'RateLimit-Policy': `"${limit.name}";q=${limit.quota};w=${limit.windowMs / secondMs}`,
      RateLimit: `"${limit.name}";r=0;t=${seconds}`,
    },
  })
}
