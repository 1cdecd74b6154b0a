import { toUsdc } from '../money.ts'
import { concentratedAbove } from '../rail-status.ts'
import type { FlagDetector } from './kind.ts'

export const concentrated = {
  kind: 'concentrated',
  needs: 'good poll',
  detect: ({ outcome, displayName }) => {
    if (outcome.kind !== 'good') return null
    const { topWorkerShare, uniqueWorkers30d, tpv30dMicroUsdc } = outcome.figures
    if (topWorkerShare === null || topWorkerShare <= concentratedAbove) return null
    return {
      severity: 'warning',
      title: `${displayName}: one worker takes more than ${concentratedAbove * 100} %`,
      evidence: {
        top_worker_share: topWorkerShare,
        threshold: concentratedAbove,
        unique_workers_30d: uniqueWorkers30d,
        tpv_30d_usdc: tpv30dMicroUsdc === null ? null : toUsdc(tpv30dMicroUsdc),
      },
    }
  },
} as const satisfies FlagDetector
