import { z } from 'zod'

import { defineRail } from './adapter.ts'
import { countReasons, countField, countText, parseAnswer } from './answers.ts'
import { rareField } from './missing-field.ts'
import { readPages } from './paged-list.ts'

const host = 'https://api.apify.com'
const pageSize = 1000

/** Maximum price per month, result or event that is accepted as real. */
const ceilingUsd = 10_000

const actorShape = z.object({
  username: z.string().min(1),
  name: z.string().min(1),
  stats: z.object({ totalUsers30Days: countField.nullish() }).nullish(),
  currentPricingInfo: z
    .object({ pricingModel: z.string().nullish(), pricePerUnitUsd: rareField(z.number()) })
    .nullish(),
})

const pageShape = z.object({
  data: z.object({ total: countField, items: z.array(actorShape) }),
})

type Actor = z.output<typeof actorShape>

/** Apify Store. Payouts are not public; usage times list price would be sales, not income. */
export const apify = defineRail({
  rail: 'apify',
  rule: {
    name: 'priced-and-used',
    version: '2',
    text: `Counted are the publishers of Actors that are priced and had a user in 30 days; free and unused Actors and unit prices below 0 or above ${ceilingUsd.toLocaleString('en-US')} USD are left out and counted. Volume and workers are unknown: payouts are not public, and no estimate is published in their place.`,
  },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ offset }) => `${host}/v2/store?limit=${pageSize}&offset=${offset}&sortBy=popularity`,
      parse: (answer) => parseAnswer(pageShape, answer).data,
      keyOf: ({ username, name }) => `${username}/${name}`,
    }),
  reduce: ({ items, moved, evidence }) => {
    const counted = items.filter((actor) => reasonAgainst(actor) === null)
    const publishers = new Set(counted.map(({ username }) => username))
    const users = counted.reduce((sum, { stats }) => sum + (stats?.totalUsers30Days ?? 0), 0)
    return {
      figures: { activity30d: items.length === 0 ? 0 : null },
      removed30d: countReasons(items.map(reasonAgainst)),
      notes: [
        `${countText(items.length)} Actors are listed; ${countText(counted.length)} of ${countText(publishers.size)} publishers are priced and were used, by ${countText(users)} users in 30 days (one person counts once per Actor).`,
        'Volume and workers are unknown: payouts are not public.',
        moved,
      ],
      evidence,
    }
  },
})

function reasonAgainst({ stats, currentPricingInfo }: Actor): string | null {
  const model = currentPricingInfo?.pricingModel ?? 'FREE'
  const price = currentPricingInfo?.pricePerUnitUsd ?? 0
  if (model === 'FREE') return 'free'
  if (price < 0 || price > ceilingUsd) return 'absurd_price'
  return (stats?.totalUsers30Days ?? 0) === 0 ? 'unused' : null
}
