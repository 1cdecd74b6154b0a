import type { Failure } from '../contract/errors.ts'
/** Limits at the door: of callers who show no credentials by where they call from, of all others by who they are. */
import { apiPrefix, mcpPath } from '../contract/route.ts'
import { limitPolicies } from '../core/limits.ts'
import type { Claim, Limiter } from '../limits/limiter.ts'
import type { Network } from '../limits/network-key.ts'
import type { ClientAddress } from './client-address.ts'
import type { SignedCalls } from './signed-call.ts'

/** The public limits, or null where they are switched off. */
export type Admission = {
  /** Counts a request; false where it is over a limit. */
  readonly admit: (peer: string | undefined, forwardedFor: string | undefined) => boolean
  /** The refusal of a request that was not admitted. */
  readonly refusal: (peer: string | undefined, forwardedFor: string | undefined) => Failure
  /** `RateLimit` headers of an answer that no cache keeps. */
  readonly headers: (
    peer: string | undefined,
    forwardedFor: string | undefined,
  ) => Readonly<Record<string, string>>
  /** For a call that comes with credentials or a signed body: it is limited by its wallet instead. */
  readonly signed: SignedCalls
} | null

interface Deps {
  readonly limiter: Limiter
  readonly clientAddress: ClientAddress
  readonly networkOf: (address: string | undefined) => Readonly<Network>
  readonly signedCalls: SignedCalls
}

const reasons = {
  ip: `Over ${limitPolicies.ip.quota} requests a minute with a burst of ${limitPolicies.ip.burst}`,
  range: `Over ${limitPolicies.range.quota} requests a minute from this network`,
  day: `Over the free ${limitPolicies.day.quota} requests of this UTC day`,
} as const

/** The API and the tools are limited; pages and what they load are not, since one page is many requests. */
export function isLimited(path: string): boolean {
  return path.startsWith(apiPrefix) || path === mcpPath
}

export function createAdmission(deps: Deps): Admission {
  const { limiter, clientAddress, networkOf, signedCalls } = deps
  // Refilled for every request, so that counting one leaves nothing for the garbage collector.
  const host: Claim = { policy: 'ip', key: 0 }
  const day: Claim = { policy: 'day', key: 0 }
  const range: Claim = { policy: 'range', key: 0 }
  const ipv4Claims: readonly Claim[] = [host, day]
  const ipv6Claims: readonly Claim[] = [host, range, day]

  const claimsOf = (peer: string | undefined, forwardedFor: string | undefined) => {
    const network = networkOf(clientAddress(peer, forwardedFor))
    host.key = network.host
    day.key = network.host
    if (network.range === null) return ipv4Claims
    range.key = network.range
    return ipv6Claims
  }

  return {
    signed: signedCalls,
    admit: (peer, forwardedFor) => limiter.take(claimsOf(peer, forwardedFor)),
    headers: (peer, forwardedFor) => limiter.report(claimsOf(peer, forwardedFor)).headers,
    refusal(peer, forwardedFor) {
      const report = limiter.report(claimsOf(peer, forwardedFor))
      return {
        code: 'rate_limited',
        details: Object.entries(reasons).find(([policy]) => policy === report.refusedBy)?.[1],
        headers: {
          ...report.headers,
          'Retry-After': String(Math.max(1, report.retryAfterSeconds)),
        },
      }
    },
  }
}
