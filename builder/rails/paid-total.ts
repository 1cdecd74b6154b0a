/** Rails that publish only a total of what was paid since they began: volume is its growth. */
import type { z } from 'zod'

import { SourceError } from '../sources/http.ts'
import { defineRail } from './adapter.ts'
import { countText, evidenceOf, parseAnswer, usdText } from './answers.ts'
import { growthSince } from './past-polls.ts'

interface PaidTotal {
  /** Null if the total is above what can be true. */
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

export function paidTotalRail({ rail, url, field, caveat, shape }: PaidTotalRail) {
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
      if (paid === null) throw new SourceError(`field ${field}: is above what can be true`)
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
