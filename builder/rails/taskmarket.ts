import { z } from 'zod'

import { microFromBaseUnits } from '../../src/core/money.ts'
import { SourceError } from '../sources/http.ts'
import { defineRail } from './adapter.ts'
import type { Figure } from './adapter.ts'
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

const host = 'https://api.taskmarket.dev'
const pageSize = 50

const statsShape = z.object({ totalTasks: countField.nullish(), totalRewards: amountField })

const tasksShape = z.object({
  tasks: z.array(z.object({ id: z.string().min(1), status: z.string().nullish() })),
  hasMore: z.boolean(),
  nextCursor: z.string().nullish(),
})

/** Taskmarket (Daydreams) shows only a lifetime total of rewards; volume is its growth between polls. */
export const taskmarket = defineRail({
  rail: 'taskmarket',
  rule: {
    name: 'growth-of-total-rewards',
    version: '1',
    text: 'Volume is the growth of totalRewards since our polls of 30 and 7 days before (at most 12 hours off); it is unknown until such polls exist and where the counter fell. The volume includes refunded rewards and rewards still in escrow, so it is an upper bound. Nothing is removed: raw and kept are equal.',
  },
  hosts: [host],
  read: async (ctx) => {
    const answer = await ctx.http.json(`${host}/api/stats`)
    const stats = parseAnswer(statsShape, answer)
    const rewardsMicroUsdc = rewards(stats.totalRewards)
    const open = await readPages(ctx, {
      url: ({ cursor }) =>
        `${host}/api/tasks?status=open&limit=${pageSize}&sort=newest${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      parse: (page) => {
        const { tasks, hasMore, nextCursor } = parseAnswer(tasksShape, page)
        if (hasMore && (nextCursor === null || nextCursor === undefined || tasks.length === 0)) {
          throw new SourceError('there are more open tasks, but the answer has no cursor')
        }
        return { items: tasks, last: !hasMore, cursor: nextCursor ?? null }
      },
      keyOf: ({ id }) => id,
    })
    const grown = (startMs: number): Figure =>
      growthSince(ctx.past, 'rewards_micro_usdc', rewardsMicroUsdc, startMs)
    return {
      rewardsMicroUsdc,
      tasks: stats.totalTasks ?? null,
      open: open.items.length,
      grown30d: grown(ctx.window.start30dMs),
      grown7d: grown(ctx.window.start7dMs),
      pointers: [evidenceOf(answer, 1), ...open.evidence],
    }
  },
  reduce: ({ rewardsMicroUsdc, tasks, open, grown30d, grown7d, pointers }) => ({
    figures: {
      tpv30dMicroUsdc: grown30d,
      tpv7dMicroUsdc: grown7d,
      tpv30dRawMicroUsdc: grown30d,
      tpv7dRawMicroUsdc: grown7d,
    },
    notes: [
      `Rewards since the start: ${usdText(rewardsMicroUsdc)}${tasks === null ? '' : ` over ${countText(tasks)} tasks`}; ${countText(open)} tasks are open.`,
      (grown30d === null || grown7d === null) &&
        'Volume is unknown until our own polls of 30 and 7 days before can be compared.',
    ],
    evidence: pointers,
  }),
  counters: ({ rewardsMicroUsdc, open }) => ({ rewards_micro_usdc: rewardsMicroUsdc, open }),
})

/** Converts rewards, which are base units of USDC as an integer or dollars as a decimal. */
function rewards(total: number | string): number {
  const text = String(total)
  const micro = /^\d+$/.test(text) ? microFromBaseUnits(BigInt(text), 6) : microFromUsd(total)
  if (micro === null) throw new SourceError('field totalRewards: is above what can be true')
  return micro
}
