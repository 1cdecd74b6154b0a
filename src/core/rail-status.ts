import type { Figures } from './figures.ts'

export type RailStatus = 'paying' | 'pre-traction' | 'concentrated' | 'potemkin' | 'dormant'

/** `activity`: the rail makes no payments. Its activity replaces payouts, and its status is never `paying`. */
export type StatusBasis = 'payments' | 'activity'

export const concentratedAbove = 0.9
export const tractionCreators = 5

export interface StatusVerdict {
  /** Null if too few figures are known; the status then stays unchanged. */
  readonly status: RailStatus | null
  readonly skipped: readonly string[]
}

/** The first matching rule: dormant, potemkin, concentrated, pre-traction, else paying. */
export function statusOf(figures: Figures, basis: StatusBasis): StatusVerdict {
  const volume = basis === 'payments' ? figures.tpv30dMicroUsdc : null
  const { activity30d: activity, uniqueCreators30d: creators, topWorkerShare: topShare } = figures
  const withBudget = figures.creatorsWithBudget30d ?? creators

  if (activity === 0 || (activity === null && volume === 0))
    return { status: 'dormant', skipped: [] }
  const skipped: string[] = []
  if (activity === null && volume === null) {
    skipped.push('The rule for dormant was skipped: neither payouts nor volume are known.')
  }
  if (creators === null) {
    skipped.push('The rule for potemkin was skipped: the number of creators is unknown.')
  } else if (creators <= 1) return { status: 'potemkin', skipped }
  if (topShare === null) {
    skipped.push('The rule for concentrated was skipped: the share of the top worker is unknown.')
  } else if (topShare > concentratedAbove) return { status: 'concentrated', skipped }
  if (withBudget === null) {
    skipped.push('The rule for pre-traction was skipped: the number of creators is unknown.')
  } else if (withBudget < tractionCreators) return { status: 'pre-traction', skipped }

  if (basis === 'activity') return { status: 'pre-traction', skipped }
  const payoutsSeen = (activity ?? 0) > 0 || (volume ?? 0) > 0
  return { status: payoutsSeen && withBudget !== null ? 'paying' : null, skipped }
}
