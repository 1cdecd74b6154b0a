/** Quotas over stored rows survive restarts and are checked in the write's transaction. */
import { ApiError } from '../contract/errors.ts'
import { isoTime, secondMs } from '../core/time.ts'

export interface Quota {
  /** Name in the `RateLimit` headers. */
  readonly name: string
  readonly quota: number
  readonly windowMs: number
  /** Error text: `More than 5 feedback entries per hour`. */
  readonly details: string
}

/** Exclusive. */
export function windowStart({ windowMs }: Quota, nowMs: number): string {
  return isoTime(nowMs - windowMs)
}

/** `times`: since `windowStart`, oldest first. @throws ApiError `rate_limited` with the wait */
export function enforceQuotaOfTimes(limit: Quota, times: readonly string[], nowMs: number): void {
  enforceQuota(limit, times[times.length - limit.quota] ?? null, nowMs)
}

/** `nthLast`: time of the quota-th newest entry of the window. @throws ApiError `rate_limited` with the wait */
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
