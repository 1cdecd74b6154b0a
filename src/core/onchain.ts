export const checkVerdicts = [
  'unchecked',
  'pending',
  'not_found',
  /** The transfer is in a block that may be reorganised. */
  'soft',
  /** The block is behind the chain's `safe` head: provisional. */
  'safe',
  /** The block is behind the chain's `finalized` head: verified. */
  'final',
  'reverted',
  'mismatch',
] as const
export type CheckVerdict = (typeof checkVerdicts)[number]

export type Finality = Extract<CheckVerdict, 'soft' | 'safe' | 'final'>

/** Who states a receipt: a platform, the worker, a seller (x402), or feedback that names a payment (ERC-8004). */
export const receiptKinds = ['platform', 'signed', 'x402', 'erc8004'] as const

/** Whether the chain, and not the submitter, says how much was paid. */
export function hasAmountOfChain(kind: (typeof receiptKinds)[number]): boolean {
  return kind === 'x402' || kind === 'erc8004'
}

export function isAmountUnknown(kind: (typeof receiptKinds)[number], amount: number): boolean {
  return hasAmountOfChain(kind) && amount === 0
}
