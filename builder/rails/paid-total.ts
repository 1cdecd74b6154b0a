/** Rails that publish only the total paid since they began: volume is its growth. */
import { z } from 'zod'

import { microFromBaseUnits } from '../../src/core/money.ts'
import { SourceError } from '../../src/outbound/http.ts'
import { defineRail } from './adapter.ts'
import type { AdapterContext, EvidencePointer } from './adapter.ts'
import {
  amountField,
  countField,
  countText,
  evidenceOf,
  microFromUsd,
  parseAnswer,
  usdText,
} from './answers.ts'
import { readPages } from './paged-list.ts'
import { growthSince } from './past-polls.ts'

interface PaidTotal {
  /** Null if the total is implausibly high. */
  readonly paidMicroUsdc: number | null
  readonly tasks: number
  /** Tasks that were paid; absent if the platform does not count them. */
  readonly completed?: number
}

interface ReadTotal extends PaidTotal {
  readonly evidence: readonly EvidencePointer[]
  readonly moved?: string | null
}

interface PaidTotalRail {
  readonly rail: string
  readonly version?: string
  readonly host: string
  readonly field: string
  /** Name of the stored total. */
  readonly counter?: string
  /** What the total includes. */
  readonly caveat: string
  readonly readTotal: (ctx: AdapterContext) => Promise<ReadTotal>
}

function paidTotalRail(total: PaidTotalRail) {
  const { rail, version = '1', host, field, counter = 'paid_micro_usdc', caveat } = total
  return defineRail({
    rail,
    rule: {
      name: 'growth-of-total',
      version,
      text: `Volume is the growth of ${field} since our polls of 30 and 7 days before (at most 12 hours off); it is unknown until such polls exist and where the total fell. ${caveat} Nothing is removed: raw and kept are equal.`,
    },
    hosts: [host],
    read: async (ctx) => {
      const { past, window } = ctx
      const { start30dMs, start7dMs } = window
      const { paidMicroUsdc: paid, tasks, completed, ...read } = await total.readTotal(ctx)
      if (paid === null) throw new SourceError(`field ${field}: is implausibly high`)
      const counters = { [counter]: paid, ...(completed === undefined ? {} : { completed }) }
      const month = growthSince(past, counter, paid, start30dMs)
      const week = growthSince(past, counter, paid, start7dMs)
      const activity30d =
        completed === undefined ? null : growthSince(past, 'completed', completed, start30dMs)
      return { paid, tasks, counters, month, week, activity30d, moved: null, ...read }
    },
    reduce: ({ paid, tasks, month, week, activity30d, moved, evidence }) => ({
      figures: {
        tpv30dMicroUsdc: month,
        tpv7dMicroUsdc: week,
        tpv30dRawMicroUsdc: month,
        tpv7dRawMicroUsdc: week,
        activity30d,
      },
      notes: [
        `The platform states ${usdText(paid)} since it began, over ${countText(tasks)} tasks. The total does not show who paid whom.`,
        (month === null || week === null) &&
          'Volume is unknown until our own polls of 30 and 7 days before can be compared.',
        moved,
      ],
      evidence,
    }),
    counters: ({ counters }) => counters,
  })
}

function stated(
  url: string,
  shape: z.ZodType<PaidTotal>,
): Pick<PaidTotalRail, 'host' | 'readTotal'> {
  return {
    host: new URL(url).origin,
    readTotal: async ({ http }) => {
      const answer = await http.json(url)
      return { ...parseAnswer(shape, answer), evidence: [evidenceOf(answer, 1)] }
    },
  }
}

const statsShape = z.object({ totalTasks: countField, totalRewards: amountField })

/** Taskmarket (Daydreams). */
export const taskmarket = paidTotalRail({
  rail: 'taskmarket',
  field: 'totalRewards',
  caveat:
    'The volume includes refunded rewards and rewards still in escrow, so it is an upper bound.',
  ...stated(
    'https://api.taskmarket.dev/api/stats',
    statsShape.transform(({ totalTasks, totalRewards }) => ({
      paidMicroUsdc: rewards(String(totalRewards)),
      tasks: totalTasks,
    })),
  ),
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
  field: 'board.moved_usd',
  caveat:
    'Prices of bounties are offers and never volume. Activity is the growth of paid bounties.',
  ...stated(
    'https://gofrantic.com/v1/board',
    boardShape.transform(({ board: { moved_usd: moved, bounties } }) => ({
      paidMicroUsdc: microFromUsd(moved),
      tasks: bounties.length,
      completed: bounties.filter(({ work_status: status }) => status === 'paid').length,
    })),
  ),
})

const marketApi = 'https://api.execution.market/api/v1'
const marketPage = 100
/** Tasks may complete between the requests. */
const toleratedTasks = 5

const metricsShape = z.object({ tasks: z.object({ completed: countField }) })
const taskShape = z.object({ id: z.string().min(1), status: z.string(), bounty_usd: amountField })
const taskListShape = z
  .object({ tasks: z.array(taskShape), total: countField })
  .transform(({ tasks: items, total }) => ({ items, total }))

/** Execution Market: tasks that agents give to people and to other agents. */
export const executionMarket = paidTotalRail({
  rail: 'execution_market',
  version: '2',
  host: new URL(marketApi).origin,
  field: 'tasks.bounty_usd',
  counter: 'bounties_micro_usdc',
  caveat:
    'The total is the sum of bounty_usd of all completed tasks, before the fee of the platform. It includes tests of the platform. payments.total_volume_usd is not used: it adds the bounties of all tasks, of which most expire or are cancelled. Activity is the growth of completed tasks.',
  readTotal: async (ctx) => {
    const list = await readPages(ctx, {
      url: ({ offset }) =>
        `${marketApi}/tasks?status=completed&limit=${marketPage}&offset=${offset}`,
      parse: (answer) => parseAnswer(taskListShape, answer),
      keyOf: ({ id }) => id,
    })
    const answer = await ctx.http.json(`${marketApi}/public/metrics`)
    const { tasks } = parseAnswer(metricsShape, answer)
    const paid = list.items.filter(({ status }) => status === 'completed')
    if (Math.abs(tasks.completed - paid.length) > toleratedTasks) {
      throw new SourceError(
        `the list has ${countText(paid.length)} completed tasks, the totals state ${countText(tasks.completed)}`,
      )
    }
    return {
      paidMicroUsdc: microFromUsd(paid.reduce((sum, task) => sum + Number(task.bounty_usd), 0)),
      tasks: paid.length,
      completed: paid.length,
      evidence: [...list.evidence, evidenceOf(answer, 1)],
      moved: list.moved,
    }
  },
})
