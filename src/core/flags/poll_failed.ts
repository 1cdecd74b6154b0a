import { isoTime } from '../time.ts'
import type { FlagDetector } from './kind.ts'

export const pollFailed = {
  kind: 'poll_failed',
  needs: 'any poll',
  detect: ({ outcome, displayName, consecutiveFailures, lastGoodPollAtMs }) =>
    outcome.kind === 'good'
      ? null
      : {
          severity: 'info',
          title: `${displayName}: the last poll failed, figures are carried over`,
          evidence: {
            poll_error: outcome.error,
            consecutive_failures: consecutiveFailures,
            last_good_poll_at: lastGoodPollAtMs === null ? null : isoTime(lastGoodPollAtMs),
          },
        },
} as const satisfies FlagDetector
