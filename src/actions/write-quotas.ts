import { ApiError } from '../contract/errors.ts'
import { writeQuotas } from '../core/limits.ts'
import { dayMs, isoTime, secondMs } from '../core/time.ts'
import { insertRecord, nthLastTime, selectRecords } from '../db/records.ts'
import type { QuotaWindow } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import {
  countOpenBids,
  countOpenJobs,
  nthLastUnverified,
  nthLastWrite,
} from '../db/write-quotas.ts'
import type { NetworkWrite } from '../db/write-quotas.ts'
import { fingerprintHashes } from './client-fingerprint.ts'
import type { ClientFingerprint } from './client-fingerprint.ts'
import type { ActionDeps } from './deps.ts'
import { tierOf } from './partner-access.ts'
import type { CurrentPartner } from './partner-access.ts'

export async function enforceOpenJobLimit(tx: Db, poster: string, nowMs: number): Promise<void> {
  if ((await countOpenJobs(tx, poster, isoTime(nowMs))) < writeQuotas.openJobs) return
  throw new ApiError(
    'bound_reached',
    `A partner can have at most ${writeQuotas.openJobs} open jobs; award or cancel one first`,
  )
}

export async function enforceOpenBidLimit(tx: Db, bidder: string): Promise<void> {
  if ((await countOpenBids(tx, bidder)) < writeQuotas.openBids) return
  throw new ApiError(
    'bound_reached',
    `A partner can have at most ${writeQuotas.openBids} open bids; wait until one is awarded, rejected or lapses`,
  )
}

/** @throws ApiError `rate_limited` */
export async function enforcePartnerWriteQuota(
  tx: Db,
  { reference }: Pick<ActionDeps, 'reference'>,
  partner: CurrentPartner,
  nowMs: number,
): Promise<void> {
  const { wallet_rate_multiplier: multiplier } = tierOf(reference(), partner)
  if (multiplier === null) return
  const quota = perDay('partner-writes', writeQuotas.partnerWritesPerDay * multiplier, {
    what: 'writes by this partner',
    advice: 'higher tiers allow more',
  })
  await enforceQuota(quota, nowMs, (window) => nthLastWrite(tx, partner.handle, window))
}

/** @throws ApiError `rate_limited` */
export async function enforceUnverifiedReceiptQuota(
  tx: Db,
  worker: string,
  nowMs: number,
): Promise<void> {
  const quota = perDay('unverified-receipts', writeQuotas.unverifiedReceiptsPerDay, {
    what: 'receipts signed only by this worker',
    advice: 'submit receipts issued by a platform or confirmed on-chain, or wait',
  })
  await enforceQuota(quota, nowMs, (window) => nthLastUnverified(tx, worker, window))
}

/** `times` multiplies the quota: 1 for a network, more for a range of networks. */
const ofNetwork = {
  registration: (times) =>
    perDay('registrations', times * writeQuotas.registrationsPerNetworkPerDay, {
      what: 'registrations, claims and signups from this network',
      advice: 'existing registrations can be changed at any time',
    }),
  receipt: (times) =>
    perDay('unverified-receipts', times * writeQuotas.unverifiedReceiptsPerNetworkPerDay, {
      what: 'unverified receipts from this network',
      advice: 'submit receipts issued by a platform, or wait',
    }),
  transaction: (times) =>
    perDay('transactions', times * writeQuotas.transactionsPerNetworkPerDay, {
      what: 'self-signed receipts with a transaction from this network',
      advice: 'submit receipts issued by a platform, or wait',
    }),
} as const satisfies Record<NetworkWrite, (times: number) => Quota>

/** @throws ApiError `rate_limited` */
export async function chargeNetworkQuota(
  tx: Db,
  deps: Pick<ActionDeps, 'keyedHash'>,
  by: {
    readonly kind: NetworkWrite
    readonly fingerprint: Pick<ClientFingerprint, 'network' | 'range'>
    readonly nowMs: number
  },
): Promise<void> {
  const { kind, fingerprint, nowMs } = by
  const { network, range } = fingerprint
  const counted = [{ parts: [network], times: 1 }]
  if (range !== null) counted.push({ parts: ['range', range], times: writeQuotas.networksOfRange })
  for (const { parts, times } of counted) {
    const quota = ofNetwork[kind](times)
    const { today, known } = fingerprintHashes(deps, `network ${kind}`, parts, nowMs)
    await enforceQuota(quota, nowMs, (window) =>
      nthLastTime(
        selectRecords(tx, 'network_writes', { network: known, kind }),
        'created_at',
        window,
      ),
    )
    await insertRecord(tx, 'network_writes', { kind, network: today, createdAt: isoTime(nowMs) })
  }
}

function perDay(
  name: string,
  quota: number,
  { what, advice }: { readonly what: string; readonly advice: string },
): Quota {
  return {
    name,
    quota,
    windowMs: dayMs,
    details: `More than ${quota} ${what} in 24 hours; ${advice}`,
  }
}

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
