/**
 * What a check of a signature found. `reason` is for the signer: it names the strict form or says
 * that the signature is another wallet's, and never holds secrets.
 */
export type SignatureVerdict =
  | { readonly valid: true; readonly checkedAt?: CheckedBlock }
  | { readonly valid: false; readonly reason: string }

/** The block at which a contract wallet was asked: its answer may differ at another. */
export interface CheckedBlock {
  readonly blockNumber: bigint
  readonly blockHash: string
}

/** Nobody can say now whether the signature holds (answered with 503, never with 401). */
export class SchemeUnavailableError extends Error {
  override readonly name = 'SchemeUnavailableError'
}

export function invalid(reason: string): SignatureVerdict {
  return { valid: false, reason }
}
