/**
 * Generic cell rate algorithm (ITU-T I.371, virtual scheduling): one number per key, the theoretical arrival time
 * (TAT), in milliseconds of a monotonic clock.
 */

export interface GcraDecision {
  readonly allowed: boolean
  /** Requests that would still be allowed now, after this one. */
  readonly remaining: number
  /** Milliseconds until the next request is allowed; 0 where this one is. */
  readonly retryAfterMs: number
  /** The value to store. A refused request leaves the TAT unchanged. */
  readonly newTatMs: number
}

/**
 * Decides on one request. An unknown key has any TAT up to `nowMs`.
 * @param emissionIntervalMs steady interval between requests
 * @param burst requests allowed at once
 */
export function gcra(
  tatMs: number,
  nowMs: number,
  emissionIntervalMs: number,
  burst: number,
): GcraDecision {
  const newTatMs = (tatMs > nowMs ? tatMs : nowMs) + emissionIntervalMs
  const spareMs = burst * emissionIntervalMs - (newTatMs - nowMs)
  if (spareMs < 0) return { allowed: false, remaining: 0, retryAfterMs: -spareMs, newTatMs: tatMs }
  const remaining = Math.floor(spareMs / emissionIntervalMs)
  return { allowed: true, remaining, retryAfterMs: 0, newTatMs }
}
