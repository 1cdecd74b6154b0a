import { toUsdc } from '../money.ts'
import type { FlagDetector, GoodPoll } from './kind.ts'
import { percentText, roundedShare } from './measured-share.ts'
import { ownPaymentReasons, removedShareAbove, removedSum } from './self_dealing.ts'

export const mostlyFiltered = {
  kind: 'mostly_filtered',
  needs: 'good poll',
  detect: ({ outcome, displayName }) => {
    if (outcome.kind !== 'good') return null
    const raw = outcome.figures.tpv30dRawMicroUsdc
    const filtered = filteredSum(outcome)
    if (raw === null || filtered === null || filtered <= removedShareAbove * raw) return null
    return {
      severity: 'info',
      title: `${displayName}: the filter rule leaves out ${percentText(filtered / raw)} of the raw volume`,
      evidence: {
        tpv_30d_raw_usdc: toUsdc(raw),
        removed_usdc: toUsdc(filtered),
        removed_share: roundedShare(filtered / raw),
        threshold: removedShareAbove,
      },
    }
  },
} as const satisfies FlagDetector

/** Sources that give only counts by reason give the volume before and after the filter rule. */
function filteredSum(outcome: GoodPoll): number | null {
  const { tpv30dRawMicroUsdc: raw, tpv30dMicroUsdc: kept } = outcome.figures
  const isOwn = (reason: string) => ownPaymentReasons.includes(reason)
  const sum = removedSum(outcome, (reason) => !isOwn(reason))
  const isMeasured = sum !== null && Object.keys(outcome.removed).length > 0
  if (isMeasured || Object.keys(outcome.removed).some(isOwn)) return sum
  return raw === null || kept === null ? null : raw - kept
}
