import { z } from 'zod'

import { microPerUsdc } from '../../src/core/money.ts'
import { secondMs } from '../../src/core/time.ts'
import { SourceError } from '../sources/http.ts'
import { defineRail } from './adapter.ts'
import type { Figure } from './adapter.ts'
import { amountField, countExcept, countText, microFromUsd, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'
import { isWithin } from './window.ts'
const host = 'https://mainnet-contest.sherlock.xyz'

const ceilingUsdc = 10_000_000

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

type Contest = z.output<typeof contestShape>

/** Sherlock audit contests by prize pool, dated by the end of the contest. */
export const sherlock = defineRail({
  rail: 'sherlock',
  rule: {
    name: 'pools-of-ended-contests',
    version: '2',
    text: `Volume is the prize pools of public contests that ended in the window and whose judging is finished. The pools are awards and no transfers, so the volume is an upper bound. Contests whose judging is not finished, drafts, cancelled and private contests and pools above ${ceilingUsdc.toLocaleString('en-US')} USDC are removed. Creators are the protocols of the contests that remain.`,
  },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ cursor }) => `${host}/contests?page=${cursor ?? '1'}`,
      parse: (answer, { index }) => {
        const { items, has_next: hasNext, next_page: nextPage } = parseAnswer(pageShape, answer)
        const last = lastPage(hasNext, nextPage)
        if (last === false && items.length === 0) {
          throw new SourceError(
            `page ${index + 1} of the contests is empty, and more are said to come`,
          )
        }
        return { items, last, cursor: String(nextPage ?? index + 2) }
      },
      keyOf: ({ id }) => String(id),
    }),
  reduce: ({ items, evidence }, window) => {
    const ended = items.flatMap((contest) => {
      const endMs = (contest.ends_at ?? Number.NaN) * secondMs
      return isWithin(endMs, window.start30dMs, window)
        ? [{ contest, endMs, ...judge(contest) }]
        : []
    })
    const kept = ended.filter(({ removedBy }) => removedBy === null)
    const sum = (startMs: number, of: typeof ended): Figure =>
      total(of.filter(({ endMs }) => isWithin(endMs, startMs, window)))
    const noPool = kept.filter(({ micro }) => micro === null).length
    return {
      figures: {
        tpv30dMicroUsdc: sum(window.start30dMs, kept),
        tpv7dMicroUsdc: sum(window.start7dMs, kept),
        tpv30dRawMicroUsdc: sum(window.start30dMs, ended),
        tpv7dRawMicroUsdc: sum(window.start7dMs, ended),
        uniqueCreators30d: new Set(kept.map(({ contest }) => contest.title.trim().toLowerCase()))
          .size,
        activity30d: kept.length,
      },
      removed30d: countExcept(
        'kept',
        ended.map(({ removedBy }) => removedBy ?? 'kept'),
      ),
      notes: [
        `${countText(kept.length)} public contests ended in the window and are judged, of ${countText(items.length)} listed in all.`,
        'Workers, top share and the last payout are unknown: the list shows pools and not who was paid.',
        noPool > 0 &&
          `The volume is unknown where ${countText(noPool)} of these contests state no pool.`,
      ],
      evidence,
    }
  },
})

function lastPage(
  hasNext: boolean | null | undefined,
  nextPage: number | null | undefined,
): boolean | undefined {
  if (typeof hasNext === 'boolean') return !hasNext
  return nextPage === undefined ? undefined : nextPage === null
}

function judge(contest: Contest): { removedBy: string | null; micro: Figure } {
  const pool = contest.prize_pool ?? contest.rewards ?? null
  const micro = pool === null ? null : microFromUsd(pool)
  if (pool !== null && (micro === null || micro > ceilingUsdc * microPerUsdc)) {
    return { removedBy: 'above_ceiling', micro: 0 }
  }
  const status = contest.status?.toUpperCase() ?? ''
  if (status === 'DRAFT' || status === 'CANCELLED') return { removedBy: 'not_held', micro: 0 }
  if (contest.private === true) return { removedBy: 'private', micro }
  // Judges may still decide that less, or nothing, is paid.
  return status === 'FINISHED' ? { removedBy: null, micro } : { removedBy: 'in_judging', micro: 0 }
}

function total(contests: readonly { readonly micro: Figure }[]): Figure {
  let sum = 0
  for (const { micro } of contests) {
    if (micro === null) return null
    sum += micro
  }
  return sum
}
