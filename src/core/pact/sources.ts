/** Facts about pacts by source. Times in Unix milliseconds, addresses in lower case. */
import { z } from 'zod'

import type { CheckedManifest } from './check.ts'
import type { EscrowPact } from './escrow.ts'

/** By the name of the log. */
export const escrowEventKinds = {
  PactCreated: 'created',
  WorkSubmitted: 'submitted',
  PactApproved: 'approved',
  PactReleased: 'released',
  PactRefunded: 'refunded',
  PactDisputed: 'disputed',
  ArbitrationRuled: 'ruled',
  ArbitrationFinalized: 'finalized',
} as const
export type EscrowEventKind = (typeof escrowEventKinds)[keyof typeof escrowEventKinds]

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

/** Logs, oldest first; `state` is null if `getPact` was not read. */
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
  readonly claims: z.infer<typeof publishedClaims>
}

export const evmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const hash = z.string().regex(/^0x[0-9a-f]{64}$/)

/** Facts that a publication states, named as on the wire. */
export const publishedClaims = z.strictObject({
  amount_pact: z.number().positive().optional(),
  completed_on: z.iso.date().optional(),
  deadline: z.iso.date().optional(),
  worker: evmAddress.optional(),
  work_hash: hash.optional(),
  submit_work_tx: hash.optional(),
  submit_work_block: z.int().min(0).optional(),
  approve_tx: hash.optional(),
  note: z.string().max(500).optional(),
})

export interface PactSources {
  readonly nowMs: number
  readonly reading: EscrowReading | null
  readonly onChain: ReadonlyMap<number, PactOnChain>
  readonly manifests: readonly PactManifests[]
  readonly receipts: readonly PactReceipt[]
  readonly published: readonly PublishedPact[]
}
