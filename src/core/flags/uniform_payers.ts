import { toUsdc } from '../money.ts'
import { shareFlag } from './measured-share.ts'

export const uniformPayers = shareFlag(
  'uniform_payers',
  'info',
  0,
  ({ uniform, grossMicroUsdc }) => {
    if (uniform === null) return null
    const { payers, meanMicroUsdc, sumMicroUsdc } = uniform
    return {
      microUsdc: sumMicroUsdc,
      ofMicroUsdc: grossMicroUsdc,
      text: () => 'most payers pay the same sums at regular intervals',
      evidence: { payers, mean_usdc: toUsdc(meanMicroUsdc) },
    }
  },
)
