import { toUsdc } from '../money.ts'
import type { FlagDetector } from './kind.ts'

const removedShareAbove = 0.5

export const selfDealing = {
  kind: 'self_dealing',
  needs: 'good poll',
  detect: ({ outcome, displayName }) => {
    if (outcome.kind !== 'good') return null
    const { tpv30dRawMicroUsdc: raw, tpv30dMicroUsdc: kept } = outcome.figures
    if (raw === null || kept === null || raw === 0) return null
    const removedShare = (raw - kept) / raw
    if (removedShare <= removedShareAbove) return null
    return {
      severity: 'warning',
      title: `${displayName}: more than half of the raw volume does not pass the filter rule`,
      evidence: {
        tpv_30d_raw_usdc: toUsdc(raw),
        tpv_30d_usdc: toUsdc(kept),
        removed_share: Math.round(removedShare * 1e6) / 1e6,
        threshold: removedShareAbove,
      },
    }
  },
} as const satisfies FlagDetector
