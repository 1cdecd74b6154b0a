import { z } from 'zod'

import { defineRail } from './adapter.ts'
import { countText, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'

const host = 'https://api.sokosumi.com'
const pageSize = 100

const pageShape = z.object({
  data: z.array(z.object({ id: z.string().min(1), status: z.string().nullish() })),
})

/** Sokosumi: verified agents for hire. Agents are paid through the Masumi escrow, whose payments the API does not show. */
export const sokosumi = defineRail({
  rail: 'sokosumi',
  rule: {
    name: 'verified-listings',
    version: '2',
    text: 'Counted are the distinct agents that the marketplace lists as verified: supply, not paid work. Entries that repeat an identifier count once. Volume and workers are unknown.',
  },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ index }) => `${host}/v1/agents?status=VERIFIED&limit=${pageSize}&page=${index + 1}`,
      parse: (answer) => ({ items: parseAnswer(pageShape, answer).data }),
      keyOf: ({ id }) => id,
    }),
  reduce: ({ items, repeated, evidence }) => {
    const verified = items.filter(({ status }) => (status ?? 'VERIFIED') === 'VERIFIED')
    return {
      figures: { activity30d: verified.length === 0 ? 0 : null },
      removed30d: { repeated, not_verified: items.length - verified.length },
      notes: [
        `${countText(verified.length)} verified agents are listed.`,
        'Volume, workers, buyers and the last payout are unknown: the list shows agents for hire.',
      ],
      evidence,
    }
  },
})
