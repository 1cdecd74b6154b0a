/** What a run came to. */

export interface RunResult {
  /** What went wrong first; null where nothing did. */
  readonly problem: string | null
  readonly lines: readonly string[]
  /** Of the whole history. */
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
