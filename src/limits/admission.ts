/**
 * Rate limits of one request. Anonymous requests count against their network. Signed requests count against the network
 * on arrival, which bounds the cost of bad signatures, and after verification only against the wallet.
 */
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import { excessText, limitPolicies, networksOfRange, requestCosts } from '../core/limits.ts'
import type { PolicyName } from '../core/limits.ts'
import { remember } from '../core/remember.ts'
import type { Wallet } from '../core/wallet.ts'
import type { Claim, Limiter } from './limiter.ts'
import type { Network } from './network-key.ts'

export interface WalletTerms {
  readonly multiplier: number | null
  /** Calls without a paid tier also count toward the limit of the network. */
  readonly isPaid: boolean
}

/** What a request costs beyond its count. A caller with a paid tier costs its network nothing. */
export interface CostAdmission {
  /** The key of the IPv4 address or IPv6 /48, among which callers take turns; null without limits. */
  readonly network: number | null
  /** Counts outbound requests. The result, or a signature verified later, refunds them. @throws ApiError `rate_limited` */
  readonly chargeOutbound: () => () => void
  /** Counts the bytes of a write with its answer, and its `storageUnits`, before they are stored. @throws ApiError `rate_limited` */
  readonly chargeStorage: (bytes: number, units: number) => void
}

export interface WalletAdmission extends CostAdmission {
  /** Checks the limit of a wallet before its signature is verified. @throws ApiError `rate_limited` */
  readonly precheck: (wallet: Wallet) => Promise<void>
  /** Counts the request against the verified wallet, at most once. @throws ApiError `rate_limited` */
  readonly charge: (wallet: Wallet) => Promise<void>
}

export interface Admission extends WalletAdmission {
  /** Null if the request is within its limits. Refused requests are not counted. */
  readonly refusal: Failure | null
  readonly headers: () => Readonly<Record<string, string>>
  /** Refunds a signed request that was refused before verification. */
  readonly release: () => void
  /** Signed calls left for the wallet; null without a limit and before a wallet is charged. */
  readonly remaining: () => number | null
}

export interface RateLimits {
  /** Counts a read of a published document. */
  readonly count: (address: string | undefined) => Failure | null
  readonly admit: (address: string | undefined, request: ArrivingRequest) => Admission
}

interface ArrivingRequest {
  readonly isSigned: boolean
  /** If false, the request counts toward the limit of other reads instead. */
  readonly isApi: boolean
  /** Cost units of the route, for requests without a signature. */
  readonly cost?: number
  /** The wallet in the headers of a signed request, not verified. */
  readonly named?: string | undefined
}

export interface RateLimitDeps {
  readonly limiter: Limiter
  readonly networkOf: (address: string | undefined) => Network
  readonly termsOf: (walletId: string) => Promise<WalletTerms>
  readonly walletKey: (walletId: string) => number
}

const unlimitedAdmission: Admission = {
  refusal: null,
  headers: () => ({}),
  precheck: () => Promise.resolve(),
  charge: () => Promise.resolve(),
  chargeOutbound: () => () => undefined,
  chargeStorage: () => undefined,
  release: () => undefined,
  remaining: () => null,
  network: null,
}

export const unlimited: RateLimits = { count: () => null, admit: () => unlimitedAdmission }

export function createRateLimits(deps: RateLimitDeps): RateLimits {
  const { limiter, networkOf } = deps
  const proven = new Map<string, true>()
  const take = (claims: readonly Claim[]): Failure | null =>
    limiter.take(claims) ? null : refusalOf(limiter, claims)
  return {
    count(address) {
      const network = networkOf(address)
      return take([...requestClaims(network), ...perNetwork('work', network, requestCosts.memory)])
    },
    admit(address, { isSigned, isApi, cost = requestCosts.memory, named }) {
      const network = networkOf(address)
      if (isSigned) return admitSigned(deps, network, proven, named)
      const requests = isApi ? requestClaims(network) : perNetwork('other', network)
      const claims = isApi ? [...requests, ...perNetwork('work', network, cost)] : requests
      return {
        ...unlimitedAdmission,
        network: network.range ?? network.host,
        chargeOutbound: () =>
          takeOrThrow(limiter, perNetwork('work', network, requestCosts.outbound)),
        chargeStorage: (_bytes, units) =>
          takeOrThrow(limiter, perNetwork('stored', network, units)),
        refusal: take(claims),
        headers: () => limiter.report(requests).headers,
        // With refunds, a flood of reads that only the share of their network refuses would cost nothing.
        release: () => undefined,
      }
    },
  }
}

function requestClaims({ host, range: block }: Network): readonly Claim[] {
  const claims: Claim[] = [{ policy: 'ip', key: host }]
  if (block !== null) claims.push({ policy: 'range', key: block })
  claims.push({ policy: 'day', key: host })
  return claims
}

function perNetwork(
  policy: PolicyName,
  { host, range: block }: Network,
  cost = 1,
): readonly Claim[] {
  const own: Claim = { policy, key: host, cost }
  return block === null ? [own] : [own, { ...own, key: block, multiplier: networksOfRange }]
}

/** Claims of a wallet, with those that wallets without a paid tier share. */
type ClaimsOf = (own: keyof typeof sharedPolicies, cost?: number) => readonly Claim[]

const sharedPolicies = {
  wallet: 'unpaid',
  wallet_bytes: null,
  work: 'work',
  stored: 'stored',
} as const satisfies Partial<Record<PolicyName, PolicyName | null>>

function ofNetwork(network: Network): ClaimsOf {
  return (own, cost) => {
    const shared = sharedPolicies[own]
    return shared === null ? [] : perNetwork(shared, network, cost)
  }
}

function ofWallet({ multiplier, isPaid }: WalletTerms, key: number, network: Network): ClaimsOf {
  return (own, cost = 1) => {
    const shared = isPaid ? [] : ofNetwork(network)(own, cost)
    if (multiplier === null || own === sharedPolicies[own]) return shared
    return [{ policy: own, key, multiplier, cost }, ...shared]
  }
}

/** Returns the refund. @throws ApiError `rate_limited` */
function takeOrThrow(limiter: Limiter, claims: readonly Claim[]): () => void {
  if (limiter.take(claims)) return () => limiter.refund(claims)
  const { code, details, headers = {} } = refusalOf(limiter, claims)
  throw new ApiError(code, details, { headers })
}

/** Number of wallets whose signatures were verified lately, by network. */
const MAX_PROVEN = 10_000

/**
 * Takes the cost of a failed signature on arrival and refunds it for a verified wallet within its limit. A request of a
 * wallet over its limit costs the read that found the limit, so that its flood cannot fill the concurrency limits.
 */
function admitSigned(
  deps: RateLimitDeps,
  network: Network,
  proven: Map<string, true>,
  named: string | undefined,
): Admission {
  const { limiter } = deps
  const arrival = perNetwork('work', network, requestCosts.failedSignature)
  const overLimit = requestCosts.failedSignature - requestCosts.database
  const outbound: (() => void)[] = []
  let claims = arrival
  let claimsOf = ofNetwork(network)
  let isSettled = false
  let lookup: { readonly walletId: string; readonly claimsOf: Promise<ClaimsOf> } | null = null

  const settle = (refunded: readonly Claim[]): void => {
    if (isSettled) return
    isSettled = true
    if (hasArrived) limiter.refund(refunded)
    for (const refund of outbound) refund()
  }
  const claimsOfWallet = async ({ id }: Wallet): Promise<ClaimsOf> => {
    if (lookup?.walletId !== id) {
      const found = deps.termsOf(id)
      const key = deps.walletKey(id)
      lookup = { walletId: id, claimsOf: found.then((terms) => ofWallet(terms, key, network)) }
    }
    try {
      return await lookup.claimsOf
    } catch (error) {
      // A fault of the service does not count against the caller.
      settle(arrival)
      throw error
    }
  }
  const hasArrived = limiter.take(arrival)
  const provenKey = (id: string): string => `${network.host} ${id}`
  const mayUseReserve = (): boolean =>
    named !== undefined &&
    proven.has(provenKey(named)) &&
    limiter.take([{ policy: 'reserve', key: deps.walletKey(named) }])
  const areFree = (wanted: readonly Claim[]): boolean =>
    wanted.every((claim) => limiter.remaining(claim) > 0)
  /** Counts the request, or throws and keeps the cost of a read. */
  const takeCalls = (): void => {
    settle(areFree(claims) ? arrival : perNetwork('work', network, overLimit))
    takeOrThrow(limiter, claims)
  }
  return {
    refusal: hasArrived || mayUseReserve() ? null : refusalOf(limiter, arrival),
    headers: () => (claims.length === 0 ? {} : limiter.report(claims).headers),
    async precheck(signer) {
      if (isSettled) return
      const wanted = (await claimsOfWallet(signer))('wallet')
      if (isSettled || areFree(wanted)) return
      claims = wanted
      takeCalls()
    },
    async charge(signer) {
      if (isSettled) return
      const found = await claimsOfWallet(signer)
      const shared = [...found('wallet'), ...found('wallet_bytes')]
      try {
        while (limiter.mustDraw(shared)) await limiter.draw(shared)
      } catch (error) {
        // A fault of the service, as above.
        settle(arrival)
        throw error
      }
      if (isSettled) return
      remember(proven, provenKey(signer.id), true, MAX_PROVEN)
      claims = found('wallet')
      takeCalls()
      claimsOf = found
    },
    chargeOutbound() {
      // The reserve has paid for the request.
      if (!hasArrived && !isSettled) return () => undefined
      const refund = takeOrThrow(limiter, claimsOf('work', requestCosts.outbound))
      if (isSettled) return refund
      outbound.push(refund)
      return () => undefined
    },
    chargeStorage: (bytes, units) =>
      takeOrThrow(limiter, [...claimsOf('wallet_bytes', bytes), ...claimsOf('stored', units)]),
    release: () => settle(arrival),
    network: network.range ?? network.host,
    remaining() {
      const [claim] = claims
      return claim?.policy === 'wallet' ? limiter.remaining(claim) : null
    },
  }
}

function refusalOf(limiter: Limiter, claims: readonly Claim[]): Failure {
  const { headers, retryAfterSeconds, refusedBy } = limiter.report(claims)
  return {
    code: 'rate_limited',
    details: refusedBy === null ? undefined : excessText(limitPolicies[refusedBy]),
    headers: { ...headers, 'Retry-After': String(Math.max(1, retryAfterSeconds)) },
  }
}
