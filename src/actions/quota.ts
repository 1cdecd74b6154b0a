/** Quotas over stored rows survive restarts and are checked in the write's transaction. */
import { ApiError } from '../contract/errors.ts'
import { isoTime, secondMs } from '../core/time.ts'
import type { QuotaWindow } from '../db/queries.ts'

export interface Quota {
  /** Name in the `RateLimit` headers. */
  readonly name: string
  readonly quota: number
  readonly windowMs: number
  /** Error text: `More than 5 feedback entries per hour`. */
  readonly details: string
}

/** `findNthLast` returns the time of the n-th newest entry of the window. @throws ApiError `rate_limited` with the wait */
export async function enforceQuota(
  limit: Quota,
  nowMs: number,
  findNthLast: (window: QuotaWindow) => Promise<string | null>,
): Promise<void> {
  const after = isoTime(nowMs - limit.windowMs)
  const nthLast = await findNthLast({ nth: limit.quota, after })
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
