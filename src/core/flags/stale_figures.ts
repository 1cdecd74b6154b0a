import { isoTime, minuteMs } from '../time.ts'
import type { FlagDetector } from './kind.ts'

const staleAfterCycles = 2

/** Time that a good poll may be late within its cycle: the spread of the polls and their own length. */
const slackMs = 10 * minuteMs

/** Whether the last two poll cycles brought no good poll. `lastGoodPollAtMs` null: there never was one. */
export function isStale(
  nowMs: number,
  lastGoodPollAtMs: number | null,
  pollEveryMs: number,
): boolean {
  return (
    lastGoodPollAtMs === null || nowMs - lastGoodPollAtMs > staleAfterCycles * pollEveryMs + slackMs
  )
}

/** No good poll in two cycles, so the figures are out of date. */
export const staleFigures = {
  kind: 'stale_figures',
  needs: 'any poll',
  detect: ({ outcome, displayName, nowMs, lastGoodPollAtMs, pollEveryMs, consecutiveFailures }) => {
    if (outcome.kind === 'good') return null
    const tooOften = lastGoodPollAtMs === null && consecutiveFailures >= staleAfterCycles
    const tooOld = lastGoodPollAtMs !== null && isStale(nowMs, lastGoodPollAtMs, pollEveryMs)
    if (!tooOften && !tooOld) return null
    return {
      severity: 'warning',
      title: `${displayName}: no good poll in two cycles`,
      evidence: {
        last_good_poll_at: lastGoodPollAtMs === null ? null : isoTime(lastGoodPollAtMs),
        consecutive_failures: consecutiveFailures,
        poll_every_minutes: Math.round(pollEveryMs / minuteMs),
      },
    }
  },
} as const satisfies FlagDetector
