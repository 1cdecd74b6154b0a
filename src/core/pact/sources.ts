/** What is known of pacts, by where it is known from. Times in Unix milliseconds, addresses in lower case. */
import type { CheckedManifest } from './check.ts'
import type { EscrowPact } from './escrow.ts'

export const escrowEventKinds = [
  'created',
  'submitted',
  'approved',
  'released',
  'refunded',
  'disputed',
  'ruled',
  'finalized',
] as const
export type EscrowEventKind = (typeof escrowEventKinds)[number]

/** A log of the escrow. */
export interface EscrowEvent {
  readonly pactId: number
  readonly kind: EscrowEventKind
  readonly block: number
  readonly logIndex: number
  readonly txHash: string
  readonly atMs: number
  /** `submitted`: the work hash. */
  readonly workHash: string | null
  /** `ruled`: for the recipient or not. */
  readonly favorRecipient: boolean | null
}

/** How far the escrow was read. */
export interface EscrowReading {
  readonly toBlock: number
  /** Up to here no block can be reorganised. */
  readonly finalBlock: number
  /** False while older blocks are still being caught up with. */
  readonly caughtUp: boolean
}

/** A pact by its logs, oldest first, and by `getPact`; null where that was not read. */
export interface PactOnChain {
  readonly events: readonly EscrowEvent[]
  readonly state: EscrowPact | null
}

/** The manifests that this ledger holds for a pact. */
export interface PactManifests {
  readonly pactId: number
  readonly title: string
  readonly checked: CheckedManifest
  readonly updatedAtMs: number
}

/** A receipt with `job_id` `pact-<N>` that its chain has confirmed. */
export interface PactReceipt {
  readonly receiptId: string
  readonly pactId: number
  readonly chain: string
  readonly txHash: string
  /** As the receipt names it, else the sender of the transfer that backs it. */
  readonly payer: { readonly id: string; readonly display: string }
  readonly worker: { readonly id: string; readonly display: string }
  readonly amountMicroUsdc: number
  readonly block: number
  readonly settledAtMs: number
}

/** What somebody published about a pact. Only what is stated is there. */
export interface PublishedPact {
  readonly pactId: number
  readonly publishedAs: 'settled' | 'in_flight'
  readonly title: string
  readonly source: string
  readonly sourceUrl: string | null
  /** The day on which it was copied. */
  readonly notedOn: string
  readonly contract: string
  readonly amountPact: number | null
  readonly completedOn: string | null
  readonly deadline: string | null
  readonly worker: string | null
  readonly workHash: string | null
  readonly submitWorkTx: string | null
  readonly submitWorkBlock: number | null
  readonly approveTx: string | null
  readonly note: string | null
}

export interface PactSources {
  readonly nowMs: number
  /** Null: the escrow was never read. */
  readonly reading: EscrowReading | null
  readonly onChain: ReadonlyMap<number, PactOnChain>
  readonly manifests: readonly PactManifests[]
  readonly receipts: readonly PactReceipt[]
  readonly published: readonly PublishedPact[]
}
