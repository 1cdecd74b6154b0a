import { z } from 'zod'

import { defineRail } from './adapter.ts'
import { amountField, countReasons, countText, readRows, timeField } from './answers.ts'
import { rareField } from './missing-field.ts'

const host = 'https://immunefi.com'

const programmesShape = z.array(
  z.object({
    slug: z.string().min(1),
    maxBounty: amountField.nullish(),
    isPaused: rareField(z.boolean()),
    inviteOnly: rareField(z.boolean()),
    endDate: rareField(timeField),
  }),
)

/** Immunefi: bug bounty programmes. A reward is an offer, and what was paid is not public. */
export const immunefi = defineRail({
  rail: 'immunefi',
  rule: {
    name: 'offers-are-claims',
    version: '1',
    text: 'Rewards of programmes are offers and never volume. Counted are programmes that state a reward and are open to everybody. Those that are paused, ended, by invitation or without a reward are left out and counted.',
  },
  hosts: [host],
  read: (ctx) => readRows(ctx, `${host}/public-api/bounties.json`, programmesShape),
  reduce: ({ rows, pointer }, { endMs }) => {
    const reasons = rows.map((row) => {
      if (row.isPaused === true) return 'paused'
      if ((row.endDate ?? endMs) < endMs) return 'ended'
      if (row.inviteOnly === true) return 'by_invitation'
      return Number(row.maxBounty ?? 0) > 0 ? null : 'no_reward'
    })
    const open = reasons.filter((reason) => reason === null).length
    return {
      figures: {},
      removed30d: countReasons(reasons),
      notes: [
        `${countText(open)} programmes are open to everyone; what was paid, to whom and by whom is not public.`,
      ],
      evidence: [pointer],
    }
  },
})
