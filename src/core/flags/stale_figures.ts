import { isoTime, minuteMs } from '../time.ts'
import type { FlagDetector } from './kind.ts'

const staleAfterCycles = 2

/** Allowed delay of a poll, for its jitter and its duration. */
const slackMs = 10 * minuteMs

export function isStale(
  nowMs: number,
  lastGoodPollAtMs: number | null,
  pollEveryMs: number,
): boolean {
  return (
    lastGoodPollAtMs === null || nowMs - lastGoodPollAtMs > staleAfterCycles * pollEveryMs + slackMs
  )
}

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
      title: `${displayName}: no successful poll in two cycles`,
      evidence: {
        last_good_poll_at: lastGoodPollAtMs === null ? null : isoTime(lastGoodPollAtMs),
        consecutive_failures: consecutiveFailures,
        poll_every_minutes: Math.round(pollEveryMs / minuteMs),
      },
    }
  },
} as const satisfies FlagDetector
