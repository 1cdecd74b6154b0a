/**
 * Payouts of a rail, aggregated by whole Unix hours, so that a month of logs fits in memory and a poll resumes
 * where the last one stopped. Windows of rails that are read this way are therefore counted in whole hours.
 */

/** Totals of one payee in one hour. Base units of the rail's token as decimal strings: they may pass 2^53. */
export interface PayeeTotals {
  readonly count: number
  readonly rawUnits: string
  readonly keptUnits: string
  /** Micro-USDC of the kept and of all payouts; null when any of them had no price. */
  readonly rawMicroUsdc: number | null
  readonly keptMicroUsdc: number | null
}

/** One hour. `payers` and `payees` count only payouts that the rule kept; the raw totals hold all. */
export interface PayoutHour {
  /** Unix hours. */
  readonly hour: number
  readonly payers: Readonly<Record<string, number>>
  readonly payees: Readonly<Record<string, PayeeTotals>>
  readonly removed: Readonly<Record<string, number>>
  /** Unix milliseconds of the newest kept payout in the hour; null when none was kept. */
  readonly lastPayoutAtMs: number | null
}

export interface StoredPayouts<Cursor> {
  readonly cursor: Cursor | null
  readonly buckets: readonly PayoutHour[]
}

/** Durable store of folds; a save is one transaction, so the cursor never runs ahead of its buckets. */
export interface PayoutStore {
  /** Cursor and the buckets from `fromHour` on, of one stream of this rail. */
  readonly load: <Cursor>(
    stream: string,
    fromHour: number,
    parseCursor: (json: unknown) => Cursor,
  ) => Promise<StoredPayouts<Cursor>>
  /** Writes the cursor and replaces the given buckets. Buckets before `dropBeforeHour` are deleted. */
  readonly save: (
    stream: string,
    cursor: unknown,
    changed: readonly PayoutHour[],
    dropBeforeHour: number,
  ) => Promise<void>
}
