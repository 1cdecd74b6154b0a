/** Facts about pacts by source. Times in Unix milliseconds, addresses in lower case. */
import type { CheckedManifest } from './check.ts'
import type { EscrowPact } from './escrow.ts'

export type EscrowEventKind =
  | 'created'
  | 'submitted'
  | 'approved'
  | 'released'
  | 'refunded'
  | 'disputed'
  | 'ruled'
  | 'finalized'

export interface EscrowEvent {
  readonly pactId: number
  readonly kind: EscrowEventKind
  readonly block: number
  readonly logIndex: number
  readonly txHash: string
  readonly atMs: number
  readonly workHash: string | null
  readonly favorRecipient: boolean | null
}

export interface EscrowReading {
  readonly toBlock: number
  /** Blocks up to here cannot be reorganised. */
  readonly finalBlock: number
  /** False while older blocks are missing. */
  readonly caughtUp: boolean
}

/** Logs, oldest first; `state` is null where `getPact` was not read. */
export interface PactOnChain {
  readonly events: readonly EscrowEvent[]
  readonly state: EscrowPact | null
}

export interface PactManifests {
  readonly pactId: number
  readonly title: string
  readonly checked: CheckedManifest
  readonly updatedAtMs: number
}

/** A confirmed receipt with `job_id` `pact-<N>`. */
export interface PactReceipt {
  readonly receiptId: string
  readonly pactId: number
  readonly chain: string
  readonly txHash: string
  readonly payer: { readonly id: string; readonly display: string }
  readonly worker: { readonly id: string; readonly display: string }
  readonly amountMicroUsdc: number
  readonly block: number
  readonly settledAtMs: number
}

export interface PublishedPact {
  readonly pactId: number
  readonly publishedAs: 'settled' | 'in_flight'
  readonly title: string
  readonly source: string
  readonly sourceUrl: string | null
  readonly notedOn: string
  readonly contract: string
  readonly claims: PublishedClaims
}

/** Facts that a publication states, named as on the wire. */
interface PublishedClaims {
  readonly amount_pact?: number | undefined
  readonly completed_on?: string | undefined
  readonly deadline?: string | undefined
  readonly worker?: string | undefined
  readonly work_hash?: string | undefined
  readonly submit_work_tx?: string | undefined
  readonly submit_work_block?: number | undefined
  readonly approve_tx?: string | undefined
  readonly note?: string | undefined
}

export interface PactSources {
  readonly nowMs: number
  readonly reading: EscrowReading | null
  readonly onChain: ReadonlyMap<number, PactOnChain>
  readonly manifests: readonly PactManifests[]
  readonly receipts: readonly PactReceipt[]
  readonly published: readonly PublishedPact[]
}
