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

/** The payer may send the same payment again. The message is for the payer. */
export class SettlementUnavailableError extends Error {
  override readonly name = 'SettlementUnavailableError'
}

export function outageProblem({ message }: SettlementUnavailableError): string {
  return `settlement: ${message.replace(/^The /, 'the ')}`
}

/** Returns the unavailability that rejects `work`, or null if it resolves. @throws any other error of `work` */
export async function unavailabilityOf(
  work: Promise<unknown>,
): Promise<SettlementUnavailableError | null> {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof SettlementUnavailableError) return error
    throw error
  }
}
