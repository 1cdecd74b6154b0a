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
