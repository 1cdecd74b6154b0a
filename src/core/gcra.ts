/** Generic cell rate algorithm (ITU-T I.371): the key's theoretical arrival time (TAT) in milliseconds. */

export interface GcraDecision {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
  readonly newTatMs: number
}

/** Pass any `tatMs` up to `nowMs` for an unknown key. `burst` requests are allowed at once. */
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
