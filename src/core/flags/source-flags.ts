/** Flags about polls and about the data of a source. */
import { publicFigure } from '../figures.ts'
import type { FigureName } from '../figures.ts'
import { isoTime, minuteMs } from '../time.ts'
import type { FailureDetector, FlagDetector } from './kind.ts'

const staleAfterCycles = 2
/** Allowed delay of a poll, for its jitter and its duration. */
const slackMs = 10 * minuteMs
/** Allowed difference between the clock of a source and ours. */
export const clockSkewMs = 2 * minuteMs
const jumpFactor = 10
/** Volumes in USDC and counts below these can change tenfold by chance. */
const jumpFloors: readonly (readonly [FigureName, number])[] = [
  ['tpv_30d_usdc', 100],
  ['unique_creators_30d', 10],
  ['unique_workers_30d', 10],
]

export function isStale(
  nowMs: number,
  lastGoodPollAtMs: number | null,
  pollEveryMs: number,
): boolean {
  return (
    lastGoodPollAtMs === null || nowMs - lastGoodPollAtMs > staleAfterCycles * pollEveryMs + slackMs
  )
}

export const sourceFlags = [
  {
    kind: 'figures_jump',
    text: 'A figure changed tenfold between two polls.',
    detect: ({ figures }, { before }) => {
      if (before === null) return null
      let isUnknown = false
      for (const [figure, floor] of jumpFloors) {
        const [was, is] = [publicFigure(before, figure), publicFigure(figures, figure)]
        isUnknown ||= (was === null) !== (is === null)
        if (was === null || is === null || Math.max(was, is) < floor) continue
        if (is < was * jumpFactor && was < is * jumpFactor) continue
        return {
          severity: 'warning',
          title: 'a 30-day figure changed tenfold between two polls',
          evidence: { figure, before: was, after: is, factor: jumpFactor },
        }
      }
      // An open flag waits for two polls that agree.
      return isUnknown ? 'unchanged' : null
    },
  },
  {
    kind: 'clock_skew',
    text: 'The source dates a payout in the future.',
    detect: ({ figures: { lastPayoutAtMs } }, { nowMs }) =>
      lastPayoutAtMs === null || lastPayoutAtMs <= nowMs + clockSkewMs
        ? null
        : {
            severity: 'warning',
            title: 'the newest payout is dated in the future',
            evidence: {
              last_payout_at: isoTime(lastPayoutAtMs),
              polled_at: isoTime(nowMs),
              ahead_seconds: Math.round((lastPayoutAtMs - nowMs) / 1000),
            },
          },
  },
] as const satisfies readonly FlagDetector[]

export const failureFlags = [
  {
    kind: 'poll_failed',
    text: 'The last poll failed; the figures are carried over from an earlier poll.',
    detect: ({ error }, { consecutiveFailures, lastGoodPollAtMs }) => ({
      severity: 'info',
      title:
        lastGoodPollAtMs === null
          ? 'the last poll failed, and none has succeeded yet'
          : 'the last poll failed, figures are carried over',
      evidence: {
        poll_error: error,
        consecutive_failures: consecutiveFailures,
        last_good_poll_at: lastGoodPollAtMs === null ? null : isoTime(lastGoodPollAtMs),
      },
    }),
  },
  {
    kind: 'stale_figures',
    text: 'No successful poll in the last two cycles.',
    detect: (_, { nowMs, lastGoodPollAtMs, pollEveryMs, consecutiveFailures }) => {
      const isMissed =
        lastGoodPollAtMs === null
          ? consecutiveFailures >= staleAfterCycles
          : isStale(nowMs, lastGoodPollAtMs, pollEveryMs)
      if (!isMissed) return null
      return {
        severity: 'warning',
        title: 'no successful poll in two cycles',
        evidence: {
          last_good_poll_at: lastGoodPollAtMs === null ? null : isoTime(lastGoodPollAtMs),
          consecutive_failures: consecutiveFailures,
          poll_every_minutes: Math.round(pollEveryMs / minuteMs),
        },
      }
    },
  },
  {
    kind: 'negative_or_impossible_figures',
    text: 'The source reported impossible figures; they were rejected.',
    detect: ({ impossible }) =>
      impossible.length === 0
        ? null
        : {
            severity: 'critical',
            title: 'the source reported impossible figures',
            evidence: {
              refused: impossible.join('; ').slice(0, 300),
              figures: impossible.length,
            },
          },
  },
] as const satisfies readonly FailureDetector[]
