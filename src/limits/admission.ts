/**
 * Rate limits of one request. Anonymous requests count against their network. Signed requests count against the network
 * on arrival, which bounds the cost of bad signatures, and after verification only against the wallet.
 */
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import { limitPolicies } from '../core/limits.ts'
import type { PolicyName } from '../core/limits.ts'
import type { Wallet } from '../core/wallet.ts'
import type { Claim, Limiter } from './limiter.ts'
import type { Network } from './network-key.ts'

export interface WalletTerms {
  readonly multiplier: number | null
  /** Calls without a paid tier also count toward the limit of the network. */
  readonly isPaid: boolean
}

export interface WalletAdmission {
  /** Checks the limit of a wallet before its signature is verified. @throws ApiError `rate_limited` */
  readonly precheck: (wallet: Wallet) => Promise<void>
  /** Counts the request against the verified wallet, at most once. @throws ApiError `rate_limited` */
  readonly charge: (wallet: Wallet) => Promise<void>
}

export interface Admission extends WalletAdmission {
  /** Null if the request is within its limits. Refused requests are not counted. */
  readonly refusal: Failure | null
  readonly headers: () => Readonly<Record<string, string>>
  /** Refunds a request that was refused before verification. */
  readonly release: () => void
  /** Signed calls left for the wallet; null without a limit and before a wallet is charged. */
  readonly remaining: () => number | null
  /** The key of the IPv4 address or IPv6 /48, among which callers take turns; null without limits. */
  readonly network: number | null
}

export interface RateLimits {
  readonly count: (address: string | undefined) => Failure | null
  /** `named`: the wallet in the headers of a signed request, not verified. */
  readonly admit: (address: string | undefined, isSigned: boolean, named?: string) => Admission
}

export interface RateLimitDeps {
  readonly limiter: Limiter
  readonly networkOf: (address: string | undefined) => Network
  readonly termsOf: (walletId: string) => Promise<WalletTerms>
  readonly walletKey: (walletId: string) => number
}

const { ip, range, day, wallet, unpaid, failed_signatures, over_limit, reserve } = limitPolicies

/** Of a /48, which contains 65,536 /64 networks. */
const rangeMultiplier = 10

const reasons: Readonly<Record<PolicyName, string>> = {
  ip: `Over ${ip.quota} requests a minute with a burst of ${ip.burst}`,
  range: `Over ${range.quota} requests a minute from this network`,
  day: `Over the free ${day.quota} requests of this UTC day`,
  wallet: `Over the limit of this wallet: ${wallet.quota} requests a minute times the multiplier of its tier`,
  unpaid: `Over ${unpaid.quota} requests a minute from wallets without a paid tier on this network`,
  failed_signatures: `Over ${failed_signatures.quota} requests a minute from this network without a valid signature`,
  over_limit: `Over ${over_limit.quota} requests a minute from wallets on this network that exceed their own limit`,
  reserve: `Over ${reserve.quota} requests a minute of this wallet while its network sends failed signatures`,
}

const unlimitedAdmission: Admission = {
  refusal: null,
  headers: () => ({}),
  precheck: () => Promise.resolve(),
  charge: () => Promise.resolve(),
  release: () => undefined,
  remaining: () => null,
  network: null,
}

export const unlimited: RateLimits = { count: () => null, admit: () => unlimitedAdmission }

export function createRateLimits(deps: RateLimitDeps): RateLimits {
  const { limiter, networkOf } = deps
  const proven = createProvenWallets()
  const take = (claims: readonly Claim[]): Failure | null =>
    limiter.take(claims) ? null : refusalOf(limiter, claims)
  return {
    count: (address) => take(anonymousClaims(networkOf(address))),
    admit(address, isSigned, named) {
      const network = networkOf(address)
      if (isSigned) return admitSigned(deps, network, { proven, named })
      const claims = anonymousClaims(network)
      return {
        ...unlimitedAdmission,
        network: network.range ?? network.host,
        refusal: take(claims),
        headers: () => limiter.report(claims).headers,
        release: () => limiter.refund(claims),
      }
    },
  }
}

function anonymousClaims({ host, range: block }: Network): readonly Claim[] {
  const claims: Claim[] = [{ policy: 'ip', key: host }]
  if (block !== null) claims.push({ policy: 'range', key: block })
  claims.push({ policy: 'day', key: host })
  return claims
}

const MAX_PROVEN = 10_000

/** Wallets whose signatures were verified lately, by network. */
function createProvenWallets() {
  const wallets = new Set<string>()
  const keyOf = ({ host }: Network, id: string) => `${host} ${id}`
  return {
    has: (network: Network, id: string) => wallets.has(keyOf(network, id)),
    add: (network: Network, { id }: Wallet) => {
      const key = keyOf(network, id)
      wallets.delete(key)
      wallets.add(key)
      if (wallets.size <= MAX_PROVEN) return
      for (const oldest of wallets) {
        wallets.delete(oldest)
        return
      }
    },
  }
}

function perNetwork(policy: PolicyName, { host, range: block }: Network): readonly Claim[] {
  const own: Claim = { policy, key: host }
  return block === null ? [own] : [own, { policy, key: block, multiplier: rangeMultiplier }]
}

/**
 * Counts against both network policies on arrival. Refunds both for a verified wallet within its limit. For a wallet
 * over its limit, refunds only `failed_signatures`, so that its flood cannot fill the concurrency limits.
 */
function admitSigned(
  deps: RateLimitDeps,
  network: Network,
  {
    proven,
    named,
  }: {
    readonly proven: ReturnType<typeof createProvenWallets>
    readonly named: string | undefined
  },
): Admission {
  const { limiter } = deps
  const failed = perNetwork('failed_signatures', network)
  const over = perNetwork('over_limit', network)
  const arrival = [...failed, ...over]
  let claims = failed
  let isSettled = false
  let lookup: { readonly walletId: string; readonly claims: Promise<readonly Claim[]> } | null =
    null

  const settle = (refunded: readonly Claim[]): void => {
    if (isSettled) return
    isSettled = true
    if (hasArrived) limiter.refund(refunded)
  }
  const claimsOfWallet = async ({ id }: Wallet): Promise<readonly Claim[]> => {
    if (lookup?.walletId !== id) {
      const found = deps
        .termsOf(id)
        .then((terms) => walletClaims(terms, deps.walletKey(id), network))
      lookup = { walletId: id, claims: found }
    }
    try {
      return await lookup.claims
    } catch (error) {
      // A fault of the service does not count against the caller.
      settle(arrival)
      throw error
    }
  }
  const limitError = (): ApiError => {
    const { code, details, headers = {} } = refusalOf(limiter, claims)
    return new ApiError(code, details, { headers })
  }
  const refuse = (): Failure => {
    const isForBadSignatures = failed.some((claim) => limiter.remaining(claim) === 0)
    return refusalOf(limiter, isForBadSignatures ? failed : over)
  }
  const hasArrived = limiter.take(arrival)
  const mayUseReserve = (): boolean => {
    if (named === undefined || !proven.has(network, named)) return false
    return limiter.take([{ policy: 'reserve', key: deps.walletKey(named) }])
  }
  return {
    refusal: hasArrived || mayUseReserve() ? null : refuse(),
    headers: () => (claims.length === 0 ? {} : limiter.report(claims).headers),
    async precheck(signer) {
      if (isSettled) return
      const wanted = await claimsOfWallet(signer)
      if (isSettled || wanted.every((claim) => limiter.remaining(claim) > 0)) return
      claims = wanted
      settle(failed)
      // Counts nothing, since one of the claims is exhausted, but reports the refusal to the metrics.
      limiter.take(claims)
      throw limitError()
    },
    async charge(signer) {
      if (isSettled) return
      const wanted = await claimsOfWallet(signer)
      if (isSettled) return
      claims = wanted
      proven.add(network, signer)
      const isWithin = limiter.take(claims)
      settle(isWithin ? arrival : failed)
      if (!isWithin) throw limitError()
    },
    release: () => settle(arrival),
    network: network.range ?? network.host,
    remaining() {
      const [claim] = claims
      return claim?.policy === 'wallet' ? limiter.remaining(claim) : null
    },
  }
}

function walletClaims(
  { multiplier, isPaid }: WalletTerms,
  walletKey: number,
  network: Network,
): readonly Claim[] {
  if (multiplier === null) return []
  const own: Claim = { policy: 'wallet', key: walletKey, multiplier }
  return isPaid ? [own] : [own, ...perNetwork('unpaid', network)]
}

function refusalOf(limiter: Limiter, claims: readonly Claim[]): Failure {
  const { headers, retryAfterSeconds, refusedBy } = limiter.report(claims)
  return {
    code: 'rate_limited',
    details: refusedBy === null ? undefined : reasons[refusedBy],
    headers: { ...headers, 'Retry-After': String(Math.max(1, retryAfterSeconds)) },
  }
}
