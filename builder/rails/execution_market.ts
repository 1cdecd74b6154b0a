import { z } from 'zod'

import { amountField, countField, microFromUsd } from './answers.ts'
import { paidTotalRail } from './paid-total.ts'

const metricsShape = z.object({
  tasks: z.object({ total: countField, completed: countField }),
  payments: z.object({ total_volume_usd: amountField }),
})

/** Execution Market: tasks that agents give to people and to other agents. */
export const executionMarket = paidTotalRail({
  rail: 'execution_market',
  url: 'https://api.execution.market/api/v1/public/metrics',
  field: 'payments.total_volume_usd',
  caveat:
    'The platform sets the total and does not say what it includes. Activity is the growth of completed tasks.',
  shape: metricsShape.transform(({ tasks, payments }) => ({
    paidMicroUsdc: microFromUsd(payments.total_volume_usd),
    tasks: tasks.total,
    completed: tasks.completed,
  })),
})
