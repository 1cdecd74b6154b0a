/** `reason` is shown to the signer and contains no secrets. */
export type SignatureVerdict =
  | { readonly valid: true; readonly checkedAt?: CheckedBlock }
  | { readonly valid: false; readonly reason: string }

export interface CheckedBlock {
  readonly blockNumber: bigint
  readonly blockHash: string
}

/** The signature cannot be checked now. The status is 503, never 401. */
export class SchemeUnavailableError extends Error {
  override readonly name = 'SchemeUnavailableError'
}

export function invalid(reason: string): SignatureVerdict {
  return { valid: false, reason }
}
