/** The result of a run. */

export interface RunResult {
  /** The first problem found, if any. */
  readonly problem: string | null
  readonly lines: readonly string[]
  /** SHA-256 of all lines. */
  readonly hash: string
  readonly tally: Readonly<Record<Counted, number>>
}

export const counted = [
  'requests',
  'taken',
  'repeats',
  'refused',
  'unanswered',
  'bought',
  'delivered',
  'claimed by letter',
  'faults',
  'restarts',
  'restores',
  'builds',
  'jobs',
  'accepted',
  'accepted by silence',
  'disputed',
  'expired',
  'statements',
] as const
export type Counted = (typeof counted)[number]
