import { z } from 'zod'

import { microPerUsdc } from '../../src/core/money.ts'
import { defineRail } from './adapter.ts'
import {
  countReasons,
  countField,
  countText,
  microFromUsd,
  parseAnswer,
  usdText,
} from './answers.ts'
import { readPages } from './paged-list.ts'

const host = 'https://api.bountybook.ai'
const pageSize = 100

const ceilingUsdc = 10_000

const jobShape = z.object({
  id: z.string().min(1),
  budget_usdc: z.union([z.string(), z.number()]).nullish(),
  status: z.string(),
  poster_address: z.string().min(1).nullish(),
})

const pageShape = z
  .object({ jobs: z.array(jobShape), total: countField.nullish() })
  .transform(({ jobs: items, total }) => ({ items, total }))

type Job = z.output<typeof jobShape>

/** BountyBook: open jobs with a reward. There is no escrow contract, so an offer is never volume. */
export const bountybook = defineRail({
  rail: 'bountybook',
  rule: {
    name: 'offers-are-claims',
    version: '1',
    text: `Open jobs are offers and never volume; creators are their distinct posters. Jobs without a price, below 0 or above ${ceilingUsdc.toLocaleString('en-US')} USDC are left out and counted.`,
  },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ index }) => `${host}/jobs?status=open&page=${index + 1}&limit=${pageSize}`,
      parse: (answer) => parseAnswer(pageShape, answer),
      keyOf: ({ id }) => id,
    }),
  reduce: ({ items, moved, evidence }) => {
    const judged = items.map((job) => ({ job, ...judge(job) }))
    const offers = judged.filter(({ reason }) => reason === null)
    const offered = offers.reduce((sum, { micro }) => sum + micro, 0)
    const posters = offers.map(({ job }) => job.poster_address?.toLowerCase() ?? null)
    const named = posters.filter((poster) => poster !== null)
    return {
      figures: {
        uniqueCreators30d:
          named.length > 0 && named.length === posters.length ? new Set(named).size : null,
      },
      removed30d: countReasons(judged.map(({ reason }) => reason)),
      notes: [
        `${countText(offers.length)} open jobs offer ${usdText(offered)} in total; nothing shows that the posters own this amount.`,
        'Volume, workers and the last payout are unknown: the list shows offers.',
        named.length < posters.length && 'Creators are unknown: not every job names its poster.',
        moved,
      ],
      evidence,
    }
  },
})

function judge({ budget_usdc: budget }: Job): { reason: string | null; micro: number } {
  const text = String(budget ?? '').trim()
  if (!/^-?\d{1,15}(?:\.\d+)?$/.test(text)) return { reason: 'no_price', micro: 0 }
  if (text.startsWith('-')) return { reason: 'negative_price', micro: 0 }
  const micro = microFromUsd(text)
  return micro === null || micro > ceilingUsdc * microPerUsdc
    ? { reason: 'absurd_price', micro: 0 }
    : { reason: null, micro }
}
