import { isoTime, minuteMs } from '../time.ts'
import type { FlagDetector } from './kind.ts'

const toleranceMs = 2 * minuteMs

export const clockSkew = {
  kind: 'clock_skew',
  needs: 'good poll',
  detect: ({ outcome, nowMs, displayName }) => {
    if (outcome.kind !== 'good') return null
    const { lastPayoutAtMs } = outcome.figures
    if (lastPayoutAtMs === null || lastPayoutAtMs <= nowMs + toleranceMs) return null
    return {
      severity: 'warning',
      title: `${displayName}: the newest payout is dated in the future`,
      evidence: {
        last_payout_at: isoTime(lastPayoutAtMs),
        polled_at: isoTime(nowMs),
        ahead_seconds: Math.round((lastPayoutAtMs - nowMs) / 1000),
      },
    }
  },
} as const satisfies FlagDetector
