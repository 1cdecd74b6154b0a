import type { ErrorCode } from '../contract/errors.ts'
import type { Authorization } from './authorization.ts'
import type { UsdcChain } from './chain.ts'
import type { PaymentOffer } from './challenge.ts'

export type SettlementMode = 'off' | 'local' | 'facilitator'

/** `authorization_already_used`: used or cancelled; only the chain shows which. */
export type SettlementRefusal = {
  readonly code: ErrorCode
  readonly message: string
}

export type SettlementCheck =
  | { readonly ok: true; readonly gas: bigint }
  | { readonly ok: false; readonly refusal: SettlementRefusal }

/** Stores the transaction that this service is about to send, and its turn; null if the facilitator sends. */
export type RecordSubmission = (
  signed: { readonly txHash: string; readonly turn: number } | null,
) => Promise<void>

/** One service at a time sends from the wallet of a ledger. The turn increases when another service has sent in between. */
export type Turns = <T>(work: (turn: number) => Promise<T>) => Promise<T>

export interface Settler {
  readonly mode: Exclude<SettlementMode, 'off'>
  /** @throws SettlementUnavailableError if the result is unknown */
  readonly check: (authorization: Authorization, offer: PaymentOffer) => Promise<SettlementCheck>
  /**
   * Awaits `record`, then sends the transaction and returns its hash if it is known, or a definite refusal of the
   * facilitator. @throws SettlementUnavailableError if a retry is safe, or, after `record`, if a node has refused it
   */
  readonly submit: (
    authorization: Authorization,
    checked: { readonly gas: bigint; readonly offer: PaymentOffer },
    record: RecordSubmission,
    inTurn: Turns,
  ) => Promise<string | SettlementRefusal | null>
  readonly resetNonce: () => void
  /** Returns problems for the operator; never throws. */
  readonly inspect: () => Promise<readonly string[]>
}

export type Payments =
  | {
      readonly mode: 'off'
      readonly receiver: string | null
      readonly problems: () => readonly string[]
    }
  | PaymentsOn

export interface PaymentsOn {
  readonly mode: Settler['mode']
  readonly receiver: string
  readonly settler: Settler
  readonly chain: UsdcChain
  /** Names this service in the leases of payments. */
  readonly holder: string
  /** Authorizations in settlement by this process, by payer and nonce. */
  readonly inFlight: Set<string>
  /** Pauses between checks for a transaction; a payer waits at most for their sum. */
  readonly pausesMs: readonly number[]
  readonly problems: () => readonly string[]
  readonly inspect: () => Promise<void>
}
