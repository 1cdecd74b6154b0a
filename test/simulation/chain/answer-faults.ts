/** Faults in the answers of node and facilitator: a run has a mood, each answer its own outcome. */
import type { Chance } from '../random.ts'

const outcome = {
  answers: 1,
  /** Says nothing: whoever waits has to give up by its own limit. */
  stalls: 0,
  /** The connection ends, before what was asked for is done. */
  'cuts off': 0,
  /** The connection ends after the request was processed. */
  'cuts off late': 0,
  /** Says something of another form. */
  babbles: 0,
  /** An error in its own words. */
  refuses: 0,
  /** Answers from a state that is some seconds old, or against what it knows. */
  lags: 0,
  lies: 0,
}
export type AnswerOutcome = keyof typeof outcome

const moods = {
  well: outcome,
  poor: {
    ...outcome,
    answers: 30,
    stalls: 0.4,
    'cuts off': 0.5,
    'cuts off late': 0.8,
    babbles: 0.2,
    refuses: 0.4,
    lags: 3,
    lies: 1.5,
  },
  bad: {
    ...outcome,
    answers: 10,
    stalls: 0.5,
    'cuts off': 0.8,
    'cuts off late': 1,
    babbles: 0.3,
    refuses: 0.8,
    lags: 2,
    lies: 1,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<AnswerOutcome, number>>>>

export interface AnswerFaults {
  readonly next: () => AnswerOutcome
  /** Count of faulty answers. */
  readonly count: () => number
  /** From here on all is answered. */
  readonly calm: () => void
}

export function createAnswerFaults(chance: Chance): AnswerFaults {
  let mood: keyof typeof moods = chance.weighted({ well: 5, poor: 4, bad: 1.5 })
  let count = 0
  return {
    next: () => {
      const next = mood === 'well' ? 'answers' : chance.weighted(moods[mood])
      if (next !== 'answers') count += 1
      return next
    },
    count: () => count,
    calm: () => {
      mood = 'well'
    },
  }
}

/**
 * Signals whose request is never answered. Whoever asks waits with the same signal for the time that it gives the
 * answer: it is up where there will be none, and else never.
 */
export interface Limits {
  readonly stall: (signal: AbortSignal) => void
  readonly isStalled: (signal: AbortSignal | undefined) => boolean
}

export function createLimits(): Limits {
  const stalled = new WeakSet<AbortSignal>()
  return {
    stall: (signal) => stalled.add(signal),
    isStalled: (signal) => signal !== undefined && stalled.has(signal),
  }
}
