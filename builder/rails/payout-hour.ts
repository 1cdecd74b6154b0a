import { z } from 'zod'

import { hourMs } from '../../src/core/time.ts'

const count = z.int().min(0)
/** Decimal strings, since they may exceed 2^53. */
const baseUnits = z.string().regex(/^\d+$/)

/**
 * Columns: payer, payee, number of payouts, base units, micro-USDC, largest payout in micro-USDC.
 * Amounts of money are null if any payout has no price.
 */
const pairRow = z.tuple([
  z.string().nullable(),
  z.string(),
  count,
  baseUnits,
  count.nullable(),
  count.nullable(),
])

/** `pairs`: the payouts that the rule keeps, sorted by payer and payee. `removed`: the others, by reason. */
export const payoutHourBody = z.strictObject({
  pairs: z.array(pairRow),
  removed: z.record(z.string(), z.strictObject({ count, microUsdc: count.nullable() })),
  lastPayoutAtMs: count.nullable(),
})

/** The payouts of one Unix hour: a month of single payouts would not fit in memory. */
export type PayoutHour = Readonly<z.infer<typeof payoutHourBody>> & { readonly hour: number }
export type PairRow = z.infer<typeof pairRow>

export function emptyHour(hour: number): PayoutHour {
  return { hour, pairs: [], removed: {}, lastPayoutAtMs: null }
}

/** The hours that begin in `[startMs, endMs)`, so that a window is never longer than stated. */
export function hoursWithin(
  buckets: readonly PayoutHour[],
  startMs: number,
  endMs: number,
): readonly PayoutHour[] {
  return buckets.filter(({ hour }) => hour * hourMs >= startMs && hour * hourMs < endMs)
}

/** Null if either is unknown, or the sum is not a safe integer. */
export function addKnown(a: number | null, b: number | null): number | null {
  const sum = a === null || b === null ? null : a + b
  return sum !== null && Number.isSafeInteger(sum) ? sum : null
}
