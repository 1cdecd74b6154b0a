/** What a payer signed, and the one way in which nobody can say yet what becomes of it. */

/** A signed EIP-3009 transfer. Addresses and the nonce in lower case; times are Unix seconds. */
export interface Authorization {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 0x and 64 hex digits. */
  readonly nonce: string
  /** 0x and lower-case hex; 65 bytes with v 27 or 28 where it is a plain key's. */
  readonly signature: string
}

/** No payment can be settled now; the same one may be sent again. The message is for the payer. */
export class SettlementUnavailableError extends Error {
  override readonly name = 'SettlementUnavailableError'
}
