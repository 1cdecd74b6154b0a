/** Who brings a signed authorization to the chain. Types only. */
import type { PaymentTerms } from '../contract/x402.ts'
import type { Authorization } from './authorization.ts'
import type { UsdcChain } from './chain.ts'

export type SettlementMode = 'off' | 'local' | 'facilitator'

/** `used`: the authorization is spent or cancelled; the chain tells which. */
export type SettlementRefusal = {
  readonly reason: 'used' | 'insufficient_funds' | 'expired' | 'signature' | 'refused'
  readonly message: string
}

export type SettlementCheck =
  | { readonly ok: true; readonly gas: bigint }
  | { readonly ok: false; readonly refusal: SettlementRefusal }

/** It may be on its way, whatever the node said. The hash is null where nobody has told it. */
export interface SubmittedTransaction {
  readonly txHash: string | null
}

export interface Settler {
  readonly mode: Exclude<SettlementMode, 'off'>
  /**
   * Whether the chain would take it now. Nothing is sent.
   * @throws SettlementUnavailableError where nobody can tell.
   */
  readonly check: (authorization: Authorization, terms: PaymentTerms) => Promise<SettlementCheck>
  /**
   * Sends it. `record` is awaited before anything leaves, with the hash of the transaction where it is known.
   * @throws SettlementUnavailableError where it may be tried again, and what `record` throws. Where `record` was
   *   called before, all that is known is that a node did not want it.
   */
  readonly submit: (
    authorization: Authorization,
    checked: { readonly gas: bigint; readonly terms: PaymentTerms },
    record: (txHash: string | null) => Promise<void>,
  ) => Promise<SubmittedTransaction>
  /** A transaction was not seen in time: what was believed of the wallet's nonces may be wrong. */
  readonly resetNonce: () => void
  /** What is wrong with it, in words for the operator; asks the chain. Never throws. */
  readonly inspect: () => Promise<readonly string[]>
}

/** The payments of this installation. */
export type Payments =
  | {
      readonly mode: 'off'
      readonly receiver: string | null
      readonly problems: () => readonly string[]
    }
  | PaymentsOn

export interface PaymentsOn {
  readonly mode: Settler['mode']
  /** EIP-55. */
  readonly receiver: string
  readonly settler: Settler
  readonly chain: UsdcChain
  /** Authorizations that a request of this process works on right now, by payer and nonce. */
  readonly inFlight: Set<string>
  /** Pauses between two looks for a transaction; their sum is how long a payer waits at most. */
  readonly pausesMs: readonly number[]
  /** What is wrong, for `/health`; from the last inspection. */
  readonly problems: () => readonly string[]
  /** Renews `problems`. */
  readonly inspect: () => Promise<void>
}
