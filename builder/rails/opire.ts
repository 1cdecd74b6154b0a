import { z } from 'zod'

import { microPerUsdc } from '../../src/core/money.ts'
import { defineRail } from './adapter.ts'
import { countReasons, countText, evidenceOf, parseAnswer, usdText } from './answers.ts'
import { readPages } from './paged-list.ts'
import { pollNear } from './past-polls.ts'
import type { PastPoll } from './past-polls.ts'

const host = 'https://api.opire.dev'
const pageSize = 100

/** Maximum reward accepted as real: 1,260,988 USD was once promised on a throwaway repository. */
const ceilingUsd = 10_000
const microPerCent = microPerUsdc / 100

const rewardShape = z.object({
  id: z.string().min(1),
  pendingPrice: z.object({ value: z.number(), unit: z.string() }),
})

/** The counters are undocumented; every number is stored under its path. */
const kpisShape = z.record(z.string(), z.unknown())

type Reward = z.output<typeof rewardShape>

/** Opire: rewards promised on GitHub issues. A promise is not a payment, so there is no volume. */
export const opire = defineRail({
  rail: 'opire',
  rule: {
    name: 'offers-are-claims',
    version: '1',
    text: `Open rewards are promises and never volume. Offers without a dollar price, below 0 or above ${ceilingUsd.toLocaleString('en-US')} USD are left out and counted. The platform's own counters are kept at every poll and compared in the notes.`,
  },
  hosts: [host],
  read: async (ctx) => {
    const list = await readPages(ctx, {
      url: ({ index }) => `${host}/rewards?page=${index + 1}&itemsPerPage=${pageSize}`,
      parse: (answer) => ({ items: parseAnswer(z.array(rewardShape), answer) }),
      keyOf: ({ id }) => id,
    })
    const answer = await ctx.http.json(`${host}/analytics/kpis`)
    const kpis = numbersIn(parseAnswer(kpisShape, answer))
    return {
      rewards: list.items,
      kpis,
      before: pollNear(ctx.past, ctx.window.start30dMs),
      pointers: [...list.evidence, evidenceOf(answer, Object.keys(kpis).length)],
    }
  },
  reduce: ({ rewards, kpis, before, pointers }) => {
    const offers = rewards.filter((reward) => reasonAgainst(reward) === null)
    const offered = offers.reduce((sum, { pendingPrice }) => sum + pendingPrice.value, 0)
    return {
      figures: {},
      removed30d: countReasons(rewards.map(reasonAgainst)),
      notes: [
        `${countText(offers.length)} open rewards promise ${usdText(offered * microPerCent)} in total; what was paid, to whom and by whom is not public.`,
        ...kpiNotes(kpis, before),
      ],
      evidence: pointers,
    }
  },
  counters: ({ kpis }) => kpis,
})

function reasonAgainst({ pendingPrice: { value, unit } }: Reward): string | null {
  if (unit !== 'USD_CENT') return 'unknown_unit'
  if (value < 0) return 'negative_price'
  return value > ceilingUsd * 100 ? 'absurd_price' : null
}

/** Returns, by path, the numbers at the top level of the answer and one level below. */
function numbersIn(
  body: Readonly<Record<string, unknown>>,
  prefix = 'kpi',
): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const [name, value] of Object.entries(body)) {
    const path = `${prefix}.${name.slice(0, 60)}`
    if (typeof value === 'number' && Number.isFinite(value)) numbers[path] = value
    const inner = prefix === 'kpi' ? kpisShape.safeParse(value) : null
    if (inner?.success === true) Object.assign(numbers, numbersIn(inner.data, path))
  }
  return numbers
}

const maxKpiNotes = 12

function kpiNotes(kpis: Readonly<Record<string, number>>, before: PastPoll | null): string[] {
  const lines = Object.entries(kpis)
    .slice(0, maxKpiNotes)
    .map(([path, value]) => {
      const earlier = before?.counters[path]
      const change =
        earlier === undefined
          ? ''
          : ` (${value >= earlier ? '+' : ''}${countText(value - earlier)} in 30 days)`
      return `${path.slice('kpi.'.length)} ${countText(value)}${change}`
    })
  return lines.length === 0 ? [] : [`The platform's own counters: ${lines.join(', ')}.`]
}
