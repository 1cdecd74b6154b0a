/** What the chain of a receipt can say of its transaction. */

export const checkVerdicts = [
  /** No checker for this chain. */
  'unchecked',
  /** Known to the node, in no block yet. */
  'pending',
  'not_found',
  /** The transfer is in a block that may be reorganised. */
  'soft',
  /** The block is behind the chain's own `safe` head: provisional. */
  'safe',
  /** The block is behind the chain's own `finalized` head: verified. */
  'final',
  'reverted',
  'mismatch',
] as const
export type CheckVerdict = (typeof checkVerdicts)[number]

/** How settled a block is by the heads that the chain itself names. */
export type Finality = Extract<CheckVerdict, 'soft' | 'safe' | 'final'>
