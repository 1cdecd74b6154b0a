import type { Figures, Measurement } from '../figures.ts'
import { measurePayments } from './measures.ts'
import type { PaymentMeasures } from './measures.ts'
import { decideStatus, formerStatusMs, lookedUpLeast } from './status.ts'
import type { RailStatus, StatusBasis, StatusReason } from './status.ts'

/** The status before this poll. */
export interface FormerStatus {
  readonly status: RailStatus
  /** Start of the time in which no rule decides; null if a rule decided. */
  readonly undecidedSinceMs: number | null
}

/** @param former null if the rail was never judged; its status is then `pre-traction` if no rule decides */
export function judge(
  { figures, facts }: Pick<Measurement, 'figures' | 'facts'>,
  basis: StatusBasis,
  former: FormerStatus | null,
  nowMs: number,
) {
  const isMeasured = basis === 'payments' && facts !== undefined && figures.tpv30dMicroUsdc !== null
  const measures = isMeasured ? measurePayments(facts) : null
  const { status: decided, reasons } = decideStatus({ figures, measures }, basis)
  const undecidedSinceMs = decided === null ? (former?.undecidedSinceMs ?? nowMs) : null
  // The status without a decision is `pre-traction` in any case, so there is nothing to keep of it.
  const keeps =
    undecidedSinceMs !== null &&
    former !== null &&
    former.status !== 'pre-traction' &&
    nowMs - undecidedSinceMs <= formerStatusMs
  const status = decided ?? (keeps ? former.status : 'pre-traction')
  const last = reasons.slice(-1).map((reason): StatusReason => {
    return { ...reason, status, outcome: keeps ? 'keeps' : 'decides' }
  })
  const judged = [...reasons.slice(0, -1), ...last]
  return {
    status,
    reasons: judged,
    undecidedSinceMs,
    /** With net volume, parties and funded creators, if known. */
    figures: withMeasures(figures, measures),
    measures,
    notes: notesOf(judged, measures),
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

function notesOf(
  reasons: readonly StatusReason[],
  measures: PaymentMeasures | null,
): readonly string[] {
  const skipped = reasons.filter(({ outcome }) => outcome === 'unknown').map(({ rule }) => rule)
  const notes = [
    skipped.length > 0 &&
      `Status rules that were skipped, since their figures are unknown: ${skipped.join(', ')}.`,
    measures !== null &&
      measures.lookedUpShare < lookedUpLeast &&
      'Judged without funders, since they are known for less than half of the volume.',
    measures?.isReturnedComplete === false &&
      'The search for returned money ended early, so the net volume may be too high.',
  ]
  return notes.filter((note) => note !== false)
}
