import { z } from 'zod'

import { secondMs } from '../../src/core/time.ts'
import { SourceError } from '../../src/outbound/http.ts'
import { defineRail } from './adapter.ts'
import { amountField, parseAnswer } from './answers.ts'
import { contestRuleText, reduceContests } from './contests.ts'
import type { Contest } from './contests.ts'
import { readPages } from './paged-list.ts'
const host = 'https://mainnet-contest.sherlock.xyz'

const contestShape = z.object({
  id: z.union([z.number(), z.string().min(1)]),
  title: z.string().min(1),
  prize_pool: amountField.nullish(),
  rewards: amountField.nullish(),
  /** Unix seconds. */
  ends_at: z.number().min(0).nullish(),
  status: z.string().nullish(),
  private: z.boolean().nullish(),
})

const pageShape = z.object({
  items: z.array(contestShape),
  has_next: z.boolean().nullish(),
  next_page: z.number().nullish(),
})

/** Sherlock audit contests by prize pool, dated by the end of the contest. */
export const sherlock = defineRail({
  rail: 'sherlock',
  rule: { name: 'pools-of-ended-contests', version: '3', text: contestRuleText },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ cursor }) => `${host}/contests?page=${cursor ?? '1'}`,
      parse: (answer, { index }) => {
        const { items, has_next: hasNext, next_page: nextPage } = parseAnswer(pageShape, answer)
        const last = lastPage(hasNext, nextPage)
        if (last === false && items.length === 0) {
          throw new SourceError(
            `page ${index + 1} of the contests is empty, although the source announces more`,
          )
        }
        return { items, last, cursor: String(nextPage ?? index + 2) }
      },
      keyOf: ({ id }) => String(id),
    }),
  reduce: ({ items, evidence }, window) => reduceContests(items.map(contestOf), evidence, window),
})

function lastPage(
  hasNext: boolean | null | undefined,
  nextPage: number | null | undefined,
): boolean | undefined {
  if (typeof hasNext === 'boolean') return !hasNext
  return nextPage === undefined ? undefined : nextPage === null
}

function contestOf(row: z.output<typeof contestShape>): Contest {
  return {
    endMs: typeof row.ends_at === 'number' ? row.ends_at * secondMs : null,
    pool: row.prize_pool ?? row.rewards ?? null,
    state: stateOf(row.status?.toUpperCase() ?? '', row.private === true),
  }
}

function stateOf(status: string, isPrivate: boolean): Contest['state'] {
  if (status === 'DRAFT' || status === 'CANCELLED') return 'not_held'
  if (isPrivate) return 'private'
  return status === 'FINISHED' ? 'finished' : 'in_judging'
}
