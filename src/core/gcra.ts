/**
 * The generic cell rate algorithm (ITU-T I.371, virtual scheduling): one number per key, the
 * theoretical arrival time (TAT). Pure; times are whole milliseconds of any clock that never goes back.
 */

export interface GcraDecision {
  readonly allowed: boolean
  /** Requests that would still be let through at this instant, after this one. */
  readonly remaining: number
  /** Milliseconds until the next request is let through; 0 where this one is. */
  readonly retryAfterMs: number
  /** What to keep for the key. A refused request costs nothing: its TAT is the old one. */
  readonly newTatMs: number
}

/**
 * Decides on one request at `nowMs` for a key whose TAT is `tatMs`; a key never seen has any TAT
 * that is not after `nowMs`. `emissionIntervalMs` is the steady distance of requests, `burst` how
 * many may come at once.
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
