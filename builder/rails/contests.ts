/** Figures of audit contests: a prize pool is an offer of a protocol, dated by the end of the contest. */
import { microPerUsdc } from '../../src/core/money.ts'
import type { EvidencePointer, Figure, ReducedEvidence } from './adapter.ts'
import { countReasons, countText, microFromUsd } from './answers.ts'
import { addKnown } from './payout-hour.ts'
import { isWithin } from './window.ts'
import type { Window } from './window.ts'

const ceilingUsdc = 10_000_000

export const contestRuleText = `Volume is the prize pools of public contests that ended in the window and whose judging is finished. The pools are awards and no transfers, so the volume is an upper bound. Contests whose judging is not finished, drafts, cancelled and private contests and pools above ${ceilingUsdc.toLocaleString('en-US')} USDC are removed. Creators are unknown: contests are listed by their titles, and a protocol may hold several.`

export interface Contest {
  readonly endMs: number | null
  /** Null if no pool in dollars is stated. */
  readonly pool: number | string | null
  readonly state: 'finished' | 'in_judging' | 'not_held' | 'private'
}

export function reduceContests(
  contests: readonly Contest[],
  evidence: readonly EvidencePointer[],
  window: Window,
): ReducedEvidence {
  const ended = contests.flatMap((contest) => {
    const { endMs } = contest
    return endMs !== null && isWithin(endMs, window.start30dMs, window)
      ? [{ endMs, ...judge(contest) }]
      : []
  })
  const kept = ended.filter(({ removedBy }) => removedBy === null)
  const sum = (startMs: number, of: typeof ended): Figure =>
    of
      .filter(({ endMs }) => endMs >= startMs)
      .reduce<Figure>((all, { micro }) => addKnown(all, micro), 0)
  const noPool = kept.filter(({ micro }) => micro === null).length
  return {
    figures: {
      tpv30dMicroUsdc: sum(window.start30dMs, kept),
      tpv7dMicroUsdc: sum(window.start7dMs, kept),
      tpv30dRawMicroUsdc: sum(window.start30dMs, ended),
      tpv7dRawMicroUsdc: sum(window.start7dMs, ended),
      activity30d: kept.length,
    },
    removed30d: countReasons(ended.map(({ removedBy }) => removedBy)),
    notes: [
      `${countText(kept.length)} public contests ended in the window and are judged, of ${countText(contests.length)} listed in all.`,
      'Creators, workers, top share and the last payout are unknown: the list shows titles and pools, and not who paid whom.',
      noPool > 0 &&
        `The volume is unknown where ${countText(noPool)} of these contests state no pool in dollars.`,
    ],
    evidence,
  }
}

function judge({ pool, state }: Contest): { removedBy: string | null; micro: Figure } {
  const micro = pool === null ? null : microFromUsd(pool)
  if (pool !== null && (micro === null || micro > ceilingUsdc * microPerUsdc)) {
    return { removedBy: 'above_ceiling', micro: 0 }
  }
  if (state === 'finished') return { removedBy: null, micro }
  // Judges may still decide that less, or nothing, is paid.
  return { removedBy: state, micro: state === 'private' ? micro : 0 }
}
