/** A signed EIP-3009 transfer. Addresses and nonce in lower case; times in Unix seconds. */
export interface Authorization {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: string
  /** `0x` and lower-case hex; 65 bytes ending in 27 or 28 for a plain key. */
  readonly signature: string
}

/** No payment can be settled now; the payer may send the same one again. The message is written for the payer. */
export class SettlementUnavailableError extends Error {
  override readonly name = 'SettlementUnavailableError'
}
