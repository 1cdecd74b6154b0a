/**
 * The limits of calls that come with a signature. Until it is proven a call counts against its network,
 * which bounds what bad signatures may cost; proven, it counts against its wallet and nothing else. A wallet at its
 * limit is refused by its name, before its signature is checked. Such a refusal leaves the network what it has for
 * signatures that do not verify, but counts in a limit of its own (`over_limit`): each takes up room until it is named,
 * and a flood of them would leave none to other networks. Both are taken when a call comes, not when it is refused:
 * whatever comes at once, no more pass the door than either has left.
 */
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import { limitPolicies } from '../core/limits.ts'
import type { Wallet } from '../core/wallet.ts'
import type { Claim, Limiter } from '../limits/limiter.ts'
import type { Network } from '../limits/network-key.ts'
import type { ClientAddress } from './client-address.ts'

/** What the tier of a wallet allows. */
export interface WalletTerms {
  /** Times the limit of a wallet; null where there is none. */
  readonly multiplier: number | null
  readonly isPartner: boolean
}

export interface SignedCall {
  /** False: too many from this network have proved nothing, or were over the limit of their wallet; nothing was counted. */
  readonly admitted: boolean
  /** The refusal of a call that was not admitted. */
  readonly refusal: () => Failure
  readonly headers: () => Readonly<Record<string, string>>
  /**
   * Asks whether a wallet may call, before the signature that names it is checked. Counts nothing.
   * @throws ApiError `rate_limited`; the call then counts against the network as one over the limit of its wallet
   */
  readonly precheck: (wallet: Wallet) => Promise<void>
  /**
   * Counts the call against the wallet that signed it, once however often it is proven.
   * @throws ApiError `rate_limited`
   */
  readonly charge: (wallet: Wallet) => Promise<void>
  /** The call was turned away before anything was checked: it counts against nobody. */
  readonly release: () => void
  /** Calls that the wallet has left; null where it has no limit, or none was proven. */
  readonly remaining: () => number | null
}

export interface SignedCallDeps {
  readonly limiter: Limiter
  readonly clientAddress: ClientAddress
  readonly networkOf: (address: string | undefined) => Readonly<Network>
  readonly termsOf: (walletId: string) => Promise<WalletTerms>
  /** A whole number below 2^53 that nobody can choose. */
  readonly walletKey: (walletId: string) => number
}

export type SignedCalls = (peer: string | undefined, forwardedFor: string | undefined) => SignedCall

const reasons = {
  wallet: `Over ${limitPolicies.wallet.quota} requests a minute, times the multiplier of the tier, for this wallet`,
  non_partners: `Over ${limitPolicies.non_partners.quota} requests a minute from this network, for wallets that are no partners`,
  failed_signatures: `Over ${limitPolicies.failed_signatures.quota} requests a minute from this network without a signature that verifies`,
  over_limit: `Over ${limitPolicies.over_limit.quota} requests a minute from this network, for wallets that are over their own limit`,
} as const

export function createSignedCalls(deps: SignedCallDeps): SignedCalls {
  const { limiter, clientAddress, networkOf } = deps
  return (peer, forwardedFor) => {
    const { host, range } = networkOf(clientAddress(peer, forwardedFor))
    const networkKey = range ?? host
    const failedSignatures: readonly Claim[] = [{ policy: 'failed_signatures', key: networkKey }]
    const overLimitClaims: readonly Claim[] = [{ policy: 'over_limit', key: networkKey }]
    const arrival = [...failedSignatures, ...overLimitClaims]
    let claims = failedSignatures
    let isSettled = false
    let named: { readonly walletId: string; readonly claims: Promise<readonly Claim[]> } | null =
      null

    const settle = (back: readonly Claim[]): void => {
      if (isSettled) return
      isSettled = true
      limiter.refund(back)
    }
    const claimsBy = async ({ id }: Wallet): Promise<readonly Claim[]> => {
      if (named?.walletId !== id) {
        const found = deps
          .termsOf(id)
          .then((terms) => claimsOf(terms, deps.walletKey(id), networkKey))
        named = { walletId: id, claims: found }
      }
      try {
        return await named.claims
      } catch (error) {
        // A failure of ours is not the caller's doing.
        settle(arrival)
        throw error
      }
    }
    const overLimit = (): ApiError => {
      const { code, details, headers = {} } = refusalOf(limiter, claims)
      return new ApiError(code, details, { headers })
    }
    return {
      admitted: limiter.take(arrival),
      refusal: () => {
        const isForBadSignatures = failedSignatures.some((claim) => limiter.remaining(claim) === 0)
        return refusalOf(limiter, isForBadSignatures ? failedSignatures : overLimitClaims)
      },
      headers: () => (claims.length === 0 ? {} : limiter.report(claims).headers),
      async precheck(wallet) {
        if (isSettled) return
        const wanted = await claimsBy(wallet)
        if (isSettled || wanted.every((claim) => limiter.remaining(claim) > 0)) return
        claims = wanted
        settle(failedSignatures)
        // Counts nothing, since not all of them allow it: whoever watches the limiter is told of a refusal.
        limiter.take(claims)
        throw overLimit()
      },
      async charge(wallet) {
        if (isSettled) return
        const wanted = await claimsBy(wallet)
        if (isSettled) return
        claims = wanted
        const isWithin = limiter.take(claims)
        settle(isWithin ? arrival : failedSignatures)
        if (!isWithin) throw overLimit()
      },
      release: () => settle(arrival),
      remaining() {
        const [claim] = claims
        return claim?.policy === 'wallet' ? limiter.remaining(claim) : null
      },
    }
  }
}

function claimsOf(
  { multiplier, isPartner }: WalletTerms,
  walletKey: number,
  networkKey: number,
): readonly Claim[] {
  if (multiplier === null) return []
  const wallet: Claim = { policy: 'wallet', key: walletKey, multiplier }
  return isPartner ? [wallet] : [wallet, { policy: 'non_partners', key: networkKey }]
}

function refusalOf(limiter: Limiter, claims: readonly Claim[]): Failure {
  const { headers, retryAfterSeconds, refusedBy } = limiter.report(claims)
  const reason = Object.entries(reasons).find(([policy]) => policy === refusedBy)?.[1]
  return {
    code: 'rate_limited',
    details: reason,
    headers: { ...headers, 'Retry-After': String(Math.max(1, retryAfterSeconds)) },
  }
}
