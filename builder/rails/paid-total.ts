/** Rails that publish only the total paid since they began: volume is its growth. */
import { z } from 'zod'

import { microFromBaseUnits } from '../../src/core/money.ts'
import { SourceError } from '../../src/outbound/http.ts'
import { defineRail } from './adapter.ts'
import {
  amountField,
  countField,
  countText,
  evidenceOf,
  microFromUsd,
  parseAnswer,
  usdText,
} from './answers.ts'
import { growthSince } from './past-polls.ts'

interface PaidTotal {
  /** Null if the total is implausibly high. */
  readonly paidMicroUsdc: number | null
  readonly tasks: number
  /** Tasks that were paid; absent if the platform does not count them. */
  readonly completed?: number
}

interface PaidTotalRail {
  readonly rail: string
  readonly url: string
  readonly field: string
  /** What the total includes. */
  readonly caveat: string
  readonly shape: z.ZodType<PaidTotal>
}

function paidTotalRail({ rail, url, field, caveat, shape }: PaidTotalRail) {
  return defineRail({
    rail,
    rule: {
      name: 'growth-of-total',
      version: '1',
      text: `Volume is the growth of ${field} since our polls of 30 and 7 days before (at most 12 hours off); it is unknown until such polls exist and where the total fell. ${caveat} Nothing is removed: raw and kept are equal.`,
    },
    hosts: [new URL(url).origin],
    read: async ({ http, past, window: { start30dMs, start7dMs } }) => {
      const answer = await http.json(url)
      const { paidMicroUsdc: paid, tasks, completed } = parseAnswer(shape, answer)
      if (paid === null) throw new SourceError(`field ${field}: is implausibly high`)
      const counters = { paid_micro_usdc: paid, ...(completed === undefined ? {} : { completed }) }
      const month = growthSince(past, 'paid_micro_usdc', paid, start30dMs)
      const week = growthSince(past, 'paid_micro_usdc', paid, start7dMs)
      const activity30d =
        completed === undefined ? null : growthSince(past, 'completed', completed, start30dMs)
      return { paid, tasks, counters, month, week, activity30d, pointer: evidenceOf(answer, 1) }
    },
    reduce: ({ paid, tasks, month, week, activity30d, pointer }) => ({
      figures: {
        tpv30dMicroUsdc: month,
        tpv7dMicroUsdc: week,
        tpv30dRawMicroUsdc: month,
        tpv7dRawMicroUsdc: week,
        activity30d,
      },
      notes: [
        `The platform states ${usdText(paid)} since it began, over ${countText(tasks)} tasks. Who paid whom is not public.`,
        (month === null || week === null) &&
          'Volume is unknown until our own polls of 30 and 7 days before can be compared.',
      ],
      evidence: [pointer],
    }),
    counters: ({ counters }) => counters,
  })
}

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

const boardShape = z.object({
  board: z.object({
    moved_usd: amountField,
    bounties: z.array(z.object({ work_status: z.string() })),
  }),
})

/** Frantic: a public board of bounties for agents. */
export const frantic = paidTotalRail({
  rail: 'frantic',
  url: 'https://gofrantic.com/v1/board',
  field: 'board.moved_usd',
  caveat:
    'Prices of bounties are offers and never volume. Activity is the growth of paid bounties.',
  shape: boardShape.transform(({ board: { moved_usd: moved, bounties } }) => ({
    paidMicroUsdc: microFromUsd(moved),
    tasks: bounties.length,
    completed: bounties.filter(({ work_status: status }) => status === 'paid').length,
  })),
})

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
