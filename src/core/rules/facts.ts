/**
 * The kept payments of a rail over 30 days, aggregated. Amounts are micro-USDC, and null if a payment has no price. Days and
 * hours are counted from 1970. Wallets of EVM chains are in lower case.
 */
export interface PaymentFacts {
  readonly endMs: number
  /** The 2,000 pairs of a day with the largest sums. */
  readonly pairs: readonly PairDay[]
  /** The other pairs of a day. */
  readonly rest: readonly RestOfDay[]
  readonly payerHours: readonly PayerHour[]
  /** Equal payments from one payer to 20 or more payees in an hour. */
  readonly batches: readonly PaymentBatch[]
  readonly removed: Readonly<Record<string, PaymentSum>>
  /** Operator by payee, as the rail lists them. */
  readonly operators: ReadonlyMap<string, string>
  /** Transfers of wallets that were looked up, without the kept payments of the rail. */
  readonly transfers: readonly TransferDay[]
  /** Wallets that are listed as hubs or were tested. A wallet without an entry links nobody. */
  readonly wallets: ReadonlyMap<string, WalletFacts>
  /** Null: without look-ups. */
  readonly lookedUp: {
    /** Everything that these received is known, from 30 days before their first payment. Includes funders. */
    readonly payers: ReadonlySet<string>
    /** Everything that these sent is known, from their first payment; includes collectors. */
    readonly payees: ReadonlySet<string>
  } | null
}

export interface PaymentSum {
  readonly count: number
  readonly microUsdc: number | null
}

export interface PairDay extends PaymentSum {
  readonly day: number
  /** Null if the source names no payer. */
  readonly payer: string | null
  readonly payee: string
  readonly largestMicroUsdc: number | null
}

export interface RestOfDay extends PaymentSum {
  readonly day: number
  readonly pairs: number
}

export interface PayerHour extends PaymentSum {
  readonly hour: number
  readonly payer: string
}

export interface PaymentBatch {
  readonly hour: number
  readonly payer: string
  readonly payees: number
  readonly microUsdc: number
}

export interface TransferDay {
  readonly day: number
  readonly from: string
  readonly to: string
  readonly count: number
  readonly microUsdc: number
}

export interface WalletFacts {
  readonly listedHub: boolean
  /** Null: not tested. */
  readonly ageDays: number | null
  readonly recipients: number | null
  readonly senders?: number | null
  readonly contract: boolean | null
}
