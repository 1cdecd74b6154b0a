import { z } from 'zod'

import { microFromBaseUnits } from '../../src/core/money.ts'
import { amountField, countField, microFromUsd } from './answers.ts'
import { paidTotalRail } from './paid-total.ts'

const statsShape = z.object({ totalTasks: countField, totalRewards: amountField })

/** Taskmarket (Daydreams). */
export const taskmarket = paidTotalRail({
  rail: 'taskmarket',
  url: 'https://api.taskmarket.dev/api/stats',
  field: 'totalRewards',
  caveat:
    'The volume includes refunded rewards and rewards still in escrow, so it is an upper bound.',
  shape: statsShape.transform(({ totalTasks, totalRewards }) => ({
    paidMicroUsdc: rewards(String(totalRewards)),
    tasks: totalTasks,
  })),
})

/** Converts rewards, which are base units of USDC as an integer or dollars as a decimal. */
function rewards(total: string): number | null {
  return /^\d+$/.test(total) ? microFromBaseUnits(BigInt(total), 6) : microFromUsd(total)
}
