/** Somebody who signs nothing, as far as limits have to know them again: within a day or two, and not by name. */
import { dayMs, isoDate } from '../core/time.ts'
import type { ActionDeps } from './deps.ts'

export interface ClientFingerprint {
  /** An IPv4 address or the /64 of an IPv6 one, as text. */
  readonly network: string
  /** The /48 of an IPv6 address, as text; null for IPv4. */
  readonly range: string | null
  readonly userAgent: string
}

export interface FingerprintHashes {
  /** To store with what is written now. */
  readonly today: string
  /** To look for: the key changes at midnight (UTC), limits do not begin anew there. */
  readonly known: readonly string[]
}

/** Hashes of the network, or of network and user agent, under keys that change daily. */
export function fingerprintHashes(
  deps: Pick<ActionDeps, 'keyedHash'>,
  what: string,
  parts: readonly string[],
  nowMs: number,
): FingerprintHashes {
  const hashOn = (timeMs: number) =>
    deps.keyedHash(`${what} ${isoDate(timeMs)}`, JSON.stringify(parts))
  const today = hashOn(nowMs)
  return { today, known: [today, hashOn(nowMs - dayMs)] }
}
