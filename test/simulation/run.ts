/** The parts that all objects of one run share, and its result. */
import type { Installation } from './installation.ts'
import type { Machine } from './machine.ts'
import type { Chance } from './random.ts'

/** Counted by the verdict on writes. */
export const judged = ['requests', 'taken', 'repeats', 'refused', 'unanswered', 'bought'] as const

export const counted = [
  ...judged,
  'delivered',
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
type Counted = (typeof counted)[number]

export interface Run {
  readonly machine: Machine
  readonly installation: Installation
  readonly chanceFor: (purpose: string) => Chance
  readonly log: (line: string) => void
  /** Records a problem; the first one ends the run. */
  readonly fail: (problem: string) => void
  readonly tally: Record<Counted, number>
}

export interface RunResult {
  readonly problem: string | null
  readonly lines: readonly string[]
  readonly hash: string
  readonly tally: Readonly<Record<Counted, number>>
}
