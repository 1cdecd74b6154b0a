import type { Figures, Measurement } from '../figures.ts'
import { measurePayments } from './measures.ts'
import type { PaymentMeasures } from './measures.ts'
import { decideStatus, formerStatusMs, statusRules } from './status.ts'
import type { RailStatus, StatusBasis, StatusReason } from './status.ts'

/** What counted before this poll. */
export interface FormerStatus {
  readonly status: RailStatus
  /** Since when no rule decides; null if one did. */
  readonly undecidedSinceMs: number | null
}

export interface Judgement {
  readonly status: RailStatus
  readonly reasons: readonly StatusReason[]
  readonly undecidedSinceMs: number | null
  /** With net volume, parties and funded creators, where they are known. */
  readonly figures: Figures
  readonly measures: PaymentMeasures | null
  readonly notes: readonly string[]
}

/** @param former null if the rail was never judged; its status is then `pre-traction` where no rule decides */
export function judge(
  { figures, facts }: Pick<Measurement, 'figures' | 'facts'>,
  basis: StatusBasis,
  former: FormerStatus | null,
  nowMs: number,
): Judgement {
  const isMeasured = basis === 'payments' && facts !== undefined && figures.tpv30dMicroUsdc !== null
  const measures = isMeasured ? measurePayments(facts) : null
  const { status, reasons } = decideStatus({ figures, measures }, basis)
  const judged = {
    reasons,
    figures: withMeasures(figures, measures),
    measures,
    notes: notesOf(reasons),
  }
  if (status !== null) return { ...judged, status, undecidedSinceMs: null }
  const undecidedSinceMs = former?.undecidedSinceMs ?? nowMs
  const keeps = former !== null && nowMs - undecidedSinceMs <= formerStatusMs
  return {
    ...judged,
    status: keeps ? former.status : 'pre-traction',
    reasons: reasons.map((reason, index) =>
      index < reasons.length - 1
        ? reason
        : {
            ...reason,
            status: keeps ? former.status : 'pre-traction',
            outcome: keeps ? 'keeps' : 'decides',
          },
    ),
    undecidedSinceMs,
  }
}

function withMeasures(figures: Figures, measures: PaymentMeasures | null): Figures {
  if (measures === null) return figures
  return {
    ...figures,
    tpv30dNetMicroUsdc: measures.netMicroUsdc,
    parties30d: measures.payers.length,
    creatorsWithBudget30d: measures.fundedCreators,
  }
}

function notesOf(reasons: readonly StatusReason[]): readonly string[] {
  const skipped = statusRules.filter(({ id }) =>
    reasons.some(({ rule, outcome }) => rule === id && outcome === 'unknown'),
  )
  if (skipped.length === 0) return []
  const names = skipped.map(({ id }) => id).join(', ')
  return [`Status rules that were skipped, since their figures are unknown: ${names}.`]
}
