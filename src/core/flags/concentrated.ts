import { toUsdc } from '../money.ts'
import { concentratedAbove, largestWorkerShare } from '../rules/status.ts'
import type { FlagDetector } from './kind.ts'
import { flagFloorMicroUsdc, roundedShare } from './measured-share.ts'

export const concentrated = {
  kind: 'concentrated',
  needs: 'good poll',
  detect: ({ outcome, displayName }) => {
    if (outcome.kind !== 'good') return null
    const { uniqueWorkers30d, tpv30dMicroUsdc: volume } = outcome.figures
    const share = largestWorkerShare(outcome)
    if (share === null || share <= concentratedAbove) return null
    const of = outcome.measures?.netMicroUsdc ?? volume
    // Without a volume, the share is one of payouts or of other activity.
    if (of !== null && of > 0 && share * of < flagFloorMicroUsdc) return null
    return {
      severity: 'warning',
      title: `${displayName}: one worker takes more than ${concentratedAbove * 100} %`,
      evidence: {
        top_worker_share: roundedShare(share),
        threshold: concentratedAbove,
        unique_workers_30d: uniqueWorkers30d,
        tpv_30d_usdc: volume === null ? null : toUsdc(volume),
        ...(outcome.measures === null
          ? {}
          : { tpv_30d_net_usdc: toUsdc(outcome.measures.netMicroUsdc) }),
      },
    }
  },
} as const satisfies FlagDetector
