import type { SelectQueryBuilder } from 'kysely'

import { ApiError } from '../contract/errors.ts'
import { excessText, networksOfRange, openQuotas, writeQuotas } from '../core/limits.ts'
import type { Quota } from '../core/limits.ts'
import { isoTime, secondMs, dayMs, isoDate } from '../core/time.ts'
import { insertRecord, nthLastTime, selectRecords } from '../db/records.ts'
import type { QuotaWindow } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import { countOpenBids, countOpenJobs, nthLastWrite } from '../db/write-quotas.ts'
import type { ActionDeps } from './deps.ts'
import { tierOf } from './partner-access.ts'
import type { CurrentPartner } from './partner-access.ts'

export async function enforceOpenJobLimit(tx: Db, poster: string, nowMs: number): Promise<void> {
  if ((await countOpenJobs(tx, poster, isoTime(nowMs))) < openQuotas.jobs) return
  throw new ApiError(
    'bound_reached',
    `A partner can have at most ${openQuotas.jobs} open jobs; award or cancel one first`,
  )
}

export async function enforceOpenBidLimit(tx: Db, bidder: string): Promise<void> {
  if ((await countOpenBids(tx, bidder)) < openQuotas.bids) return
  throw new ApiError(
    'bound_reached',
    `A partner can have at most ${openQuotas.bids} open bids; wait until one is awarded, rejected or lapses`,
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
  const findNthLast = (window: QuotaWindow) => nthLastWrite(tx, partner.handle, window)
  await enforceQuota(writeQuotas.partnerWrites, nowMs, findNthLast, multiplier)
}

/** Counts a dispute. @throws ApiError `rate_limited` */
export async function chargeNetworkDispute(
  tx: Db,
  deps: Pick<ActionDeps, 'keys'>,
  { network, range }: Pick<ClientFingerprint, 'network' | 'range'>,
  nowMs: number,
): Promise<void> {
  const counted: [string[], multiplier?: number][] = [[[network]]]
  if (range !== null) counted.push([['range', range], networksOfRange])
  for (const [parts, multiplier] of counted) {
    const { today, known } = fingerprintHashes(deps, 'network dispute', parts, nowMs)
    const earlier = selectRecords(tx, 'network_disputes', { network: known })
    await enforceRowQuota(writeQuotas.networkDisputes, nowMs, earlier, 'created_at', multiplier)
    await insertRecord(tx, 'network_disputes', { network: today, createdAt: isoTime(nowMs) })
  }
}

/** For writes with a quota per network. */
export function networkLocks(client: Pick<ClientFingerprint, 'network' | 'range'>) {
  const { network, range } = client
  return range === null ? [`network ${network}`] : [`network ${network}`, `range ${range}`]
}

/** Counts rows by the time in `column`. @throws ApiError `rate_limited` */
export async function enforceRowQuota<DB, From extends keyof DB>(
  limit: Quota,
  nowMs: number,
  rows: SelectQueryBuilder<DB, From, object>,
  column: string,
  multiplier = 1,
): Promise<void> {
  await enforceQuota(limit, nowMs, (window) => nthLastTime(rows, column, window), multiplier)
}

/** `findNthLast` returns the time of the n-th newest entry of the window. @throws ApiError `rate_limited` with the wait */
async function enforceQuota(
  limit: Quota,
  nowMs: number,
  findNthLast: (window: QuotaWindow) => Promise<string | null>,
  multiplier = 1,
): Promise<void> {
  const { name, windowMs } = limit
  const quota = limit.quota * multiplier
  const after = isoTime(nowMs - windowMs)
  const nthLast = await findNthLast({ nth: quota, after })
  if (nthLast === null) return
  const waitMs = Math.max(secondMs, Date.parse(nthLast) + windowMs - nowMs)
  const seconds = Math.ceil(waitMs / secondMs)
  throw new ApiError('rate_limited', excessText(limit), {
    headers: {
      'Retry-After': String(seconds),
      'RateLimit-Policy': `"${name}";q=${quota};w=${windowMs / secondMs}`,
      RateLimit: `"${name}";r=0;t=${seconds}`,
    },
  })
}

/** Recognises unsigned callers for a day or two, without identifying them. */
export interface ClientFingerprint {
  readonly network: string
  readonly range: string | null
  readonly userAgent: string
}

/** `known`: hashes to look up. The key changes at midnight UTC, so the hashes with yesterday's key are included. */
export function fingerprintHashes(
  deps: Pick<ActionDeps, 'keys'>,
  what: string,
  parts: readonly string[],
  nowMs: number,
) {
  const hashOn = (timeMs: number) =>
    deps.keys.hash(`${what} ${isoDate(timeMs)}`, JSON.stringify(parts))
  const today = hashOn(nowMs)
  return { today, known: [today, hashOn(nowMs - dayMs)] }
}
