import { z } from 'zod'

import { defineRail } from './adapter.ts'
import { amountField, readRows, timeField } from './answers.ts'
import { contestRuleText, reduceContests } from './contests.ts'
import type { Contest } from './contests.ts'

const host = 'https://cantina.xyz'

const contestsShape = z.array(
  z.object({
    name: z.string().min(1),
    status: z.string(),
    kind: z.string().nullish(),
    totalRewardPot: amountField.nullish(),
    currencyCode: z.string().nullish(),
    timeframe: z.object({ end: timeField.nullish() }).nullish(),
  }),
)

export const cantina = defineRail({
  rail: 'cantina',
  rule: {
    name: 'pools-of-ended-contests',
    version: '2',
    text: `${contestRuleText} A pool in another currency than USD, USDC or USDT has no price.`,
  },
  hosts: [host],
  read: (ctx) => readRows(ctx, `${host}/api/v0/competitions`, contestsShape),
  reduce: ({ rows, pointer }, window) => {
    const contests = rows.map(({ kind, currencyCode, ...row }): Contest => ({
      endMs: row.timeframe?.end ?? null,
      pool: /^USD[CT]?$/.test(currencyCode ?? '') ? (row.totalRewardPot ?? null) : null,
      state:
        kind === 'private_contest'
          ? 'private'
          : row.status === 'complete'
            ? 'finished'
            : 'in_judging',
    }))
    return reduceContests(contests, [pointer], window)
  },
})
