/** Faults in the answers of node and facilitator: a run has a mood, each answer its own outcome. */
import type { Chance } from '../random.ts'

/** Weights of the outcomes by mood. */
const moods = {
  well: {
    answers: 1,
    /** No answer: the caller has to give up by its own limit. */
    stalls: 0,
    /** The connection ends before the request was processed. */
    'cuts off': 0,
    /** The connection ends after the request was processed. */
    'cuts off late': 0,
    babbles: 0,
    refuses: 0,
    /** Answers from a state that is some seconds old. */
    lags: 0,
    /** Answers against what it knows. */
    lies: 0,
  },
  poor: {
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
    answers: 10,
    stalls: 0.5,
    'cuts off': 0.8,
    'cuts off late': 1,
    babbles: 0.3,
    refuses: 0.8,
    lags: 2,
    lies: 1,
  },
} as const
export type AnswerOutcome = keyof (typeof moods)['well']

export type AnswerFaults = ReturnType<typeof createAnswerFaults>

export function createAnswerFaults(chance: Chance) {
  let mood: keyof typeof moods = chance.weighted({ well: 5, poor: 4, bad: 1.5 })
  let count = 0
  const stalled = new WeakSet<AbortSignal>()
  return {
    next: (): AnswerOutcome => {
      const next = mood === 'well' ? 'answers' : chance.weighted<AnswerOutcome>(moods[mood])
      if (next !== 'answers') count += 1
      return next
    },
    count: () => count,
    /** Records the signal of a request that is never answered. A caller whose timer has the same signal times out. */
    stall: (signal: AbortSignal): void => {
      stalled.add(signal)
    },
    isStalled: (signal: AbortSignal | undefined) => signal !== undefined && stalled.has(signal),
    calm: (): void => {
      mood = 'well'
    },
  }
}
