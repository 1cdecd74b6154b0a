/** Paces requests to a node with a rate limit, for all its readers together. */
import type { Clock } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'

export type Pace = ReturnType<typeof createPace>

const firstPauseMs = 100
const maxPauseMs = 5 * secondMs
const slower = 1.3
const faster = 0.99

/** No pause before the first refusal. Each refusal makes the pause longer, each answer a little shorter. */
export function createPace({ monotonic, sleep }: Pick<Clock, 'monotonic' | 'sleep'>) {
  let pauseMs = 0
  let nextMs = 0
  let slowedMs = 0
  return {
    /** Resolves with the time at which the request may be sent, at that time. */
    turn: async (signal?: AbortSignal) => {
      const nowMs = monotonic()
      const turnMs = Math.max(nowMs, nextMs)
      nextMs = turnMs + pauseMs
      if (turnMs > nowMs) await sleep(turnMs - nowMs, signal)
      return turnMs
    },
    answered: () => {
      pauseMs = pauseMs < firstPauseMs / 10 ? 0 : pauseMs * faster
    },
    /** Call it if the node was too busy for the request sent at this time. */
    refused: (turnMs: number) => {
      // Requests sent at the same time are refused together.
      if (turnMs < slowedMs) return
      pauseMs = Math.min(maxPauseMs, Math.max(firstPauseMs, pauseMs * slower))
      slowedMs = monotonic()
      nextMs = Math.max(nextMs, slowedMs + pauseMs)
    },
  }
}
