/** Recognises unsigned callers for a day or two, without identifying them. */
import { dayMs, isoDate } from '../core/time.ts'
import type { ActionDeps } from './deps.ts'

export interface ClientFingerprint {
  readonly network: string
  readonly range: string | null
  readonly userAgent: string
}

export interface FingerprintHashes {
  readonly today: string
  /** Hashes to look up. The key changes at midnight UTC, so the hashes with yesterday's key are included. */
  readonly known: readonly string[]
}

export function fingerprintHashes(
  deps: Pick<ActionDeps, 'keys'>,
  what: string,
  parts: readonly string[],
  nowMs: number,
): FingerprintHashes {
  const hashOn = (timeMs: number) =>
    deps.keys.hash(`${what} ${isoDate(timeMs)}`, JSON.stringify(parts))
  const today = hashOn(nowMs)
  return { today, known: [today, hashOn(nowMs - dayMs)] }
}
