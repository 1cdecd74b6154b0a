import { z } from 'zod'

import { groupBy } from '../../src/core/group-by.ts'
import { maxAmountUsdc, microPerUsdc } from '../../src/core/money.ts'
import { defineRail } from './adapter.ts'
import type { EvidencePointer, Figure, AdapterContext } from './adapter.ts'
import {
  amountField,
  countReasons,
  largestShare,
  microFromUsd,
  readRows,
  timeField,
} from './answers.ts'
import { rareField } from './missing-field.ts'
import { isWithin } from './window.ts'
const host = 'https://superteam.fun'

/** Tokens worth one dollar. Amounts in any other token have no price. */
const dollarTokens: ReadonlySet<string> = new Set(['USDC', 'USDG', 'USDT'])

const ceilingUsdc = 1_000_000

const listingShape = z
  .object({
    id: z.string().min(1),
    rewardAmount: amountField.nullish(),
    token: z.string().nullish(),
    winnersAnnouncedAt: timeField.nullish(),
    agentAccess: z.string().min(1),
    sponsor: z.object({ slug: z.string().min(1) }),
  })
  .transform((listing) => ({
    id: listing.id,
    announcedAtMs: listing.winnersAnnouncedAt ?? null,
    sponsor: listing.sponsor.slug,
    token: listing.token ?? 'unnamed token',
    amount: listing.rewardAmount ?? null,
    openToAgents: listing.agentAccess !== 'HUMAN_ONLY',
  }))

const winnersShape = z.array(
  z
    .object({
      user: rareField(z.object({ id: z.string().min(1) })),
      userId: rareField(z.string()),
    })
    .refine(({ user, userId }) => user !== undefined || userId !== undefined, 'names no winner'),
)

interface Listing extends z.output<typeof listingShape> {
  readonly announcedAtMs: number
  /** Null if the winners are not named. Winners are read only for listings of the window. */
  readonly winners: readonly string[] | null
}

/** Neither of the two lists of Superteam Earn is complete, so both are read and joined by id. */
export const superteamEarn = defineRail({
  rail: 'superteam_earn',
  rule: {
    name: 'open-to-agents',
    version: '1',
    text: `Kept are listings open to agents (agentAccess AGENT_ALLOWED or AGENT_ONLY) with a reward in USDC, USDG or USDT of at most ${ceilingUsdc.toLocaleString('en-US')} USD; the raw figure holds all listings in those coins.`,
  },
  hosts: [host],
  read: async (ctx) => {
    const pointers: EvidencePointer[] = []
    const listings = new Map<string, Listing>()
    for (const context of ['all', 'agents']) {
      for (const listing of await readListings(ctx, context, pointers)) {
        listings.set(listing.id, listing)
      }
    }
    const complete: Listing[] = []
    for (const listing of listings.values()) {
      const isCounted =
        listing.openToAgents && isWithin(listing.announcedAtMs, ctx.window.start30dMs, ctx.window)
      const winners = isCounted ? await readWinners(ctx, listing.id, pointers) : null
      complete.push({ ...listing, winners })
    }
    return { listings: complete, pointers }
  },
  reduce: ({ listings, pointers }, window) => {
    const announced = listings.filter((listing) =>
      isWithin(listing.announcedAtMs, window.start30dMs, window),
    )
    const verdicts = announced.map((listing) => ({ listing, ...judge(listing) }))
    const kept = verdicts.filter(({ removedBy }) => removedBy === null)
    const sum = (startMs: number, ofKept: boolean): Figure => {
      const inWindow = verdicts.filter(
        ({ listing, removedBy }) =>
          isWithin(listing.announcedAtMs, startMs, window) && (!ofKept || removedBy === null),
      )
      return sumPriced(inWindow.map(({ micro }) => micro))
    }
    const payoutTimes = listings
      .filter((one) => one.announcedAtMs < window.endMs && judge(one).removedBy === null)
      .map(({ announcedAtMs }) => announcedAtMs)
    return {
      figures: {
        tpv30dMicroUsdc: sum(window.start30dMs, true),
        tpv7dMicroUsdc: sum(window.start7dMs, true),
        tpv30dRawMicroUsdc: sum(window.start30dMs, false),
        tpv7dRawMicroUsdc: sum(window.start7dMs, false),
        uniqueCreators30d: new Set(kept.map(({ listing }) => listing.sponsor)).size,
        uniqueWorkers30d: kept.every(({ listing }) => listing.winners !== null)
          ? new Set(kept.flatMap(({ listing }) => listing.winners ?? [])).size
          : null,
        topWorkerShare: shareOfTopWinner(kept),
        activity30d: kept.length,
        lastPayoutAtMs: payoutTimes.length === 0 ? null : Math.max(...payoutTimes),
      },
      removed30d: countReasons(verdicts.map(({ removedBy }) => removedBy)),
      notes: notesOf(kept),
      evidence: pointers,
    }
  },
})

async function readListings(
  ctx: AdapterContext,
  context: string,
  pointers: EvidencePointer[],
): Promise<Listing[]> {
  const url = `${host}/api/listings?context=${context}&tab=all&category=All&status=completed&sortBy=Date&order=desc`
  const { rows, pointer } = await readRows(ctx, url, z.array(listingShape))
  pointers.push(pointer)
  return rows.flatMap((listing) => {
    const { announcedAtMs } = listing
    return announcedAtMs === null ? [] : [{ ...listing, announcedAtMs, winners: null }]
  })
}

async function readWinners(
  ctx: AdapterContext,
  listing: string,
  pointers: EvidencePointer[],
): Promise<readonly string[] | null> {
  const url = `${host}/api/listings/${encodeURIComponent(listing)}/winners`
  const { rows, pointer } = await readRows(ctx, url, winnersShape)
  pointers.push(pointer)
  const named = rows.flatMap(({ user, userId }) => user?.id ?? userId ?? [])
  return named.length === rows.length && rows.length > 0 ? named : null
}

function judge(listing: Listing): { removedBy: string | null; micro: Figure } {
  const amount = dollarTokens.has(listing.token) ? listing.amount : null
  const micro = amount === null ? null : microFromUsd(amount)
  if (amount !== null) {
    // Amounts above the ledger's maximum are not in the raw figure either.
    if (micro === null || micro > maxAmountUsdc * microPerUsdc) {
      return { removedBy: 'above_ceiling', micro: 0 }
    }
    if (micro > ceilingUsdc * microPerUsdc) return { removedBy: 'above_ceiling', micro }
  }
  return { removedBy: listing.openToAgents ? null : 'human_only', micro }
}

/** Returns the sum of the known amounts; null if every amount is unknown, 0 for an empty list. */
function sumPriced(amounts: readonly Figure[]): Figure {
  const priced = amounts.filter((amount) => amount !== null)
  if (priced.length === 0 && amounts.length > 0) return null
  return priced.reduce((sum, amount) => sum + amount, 0)
}

interface Priced {
  readonly listing: Listing
  readonly micro: Figure
}

/** Returns null if a reward is split, since the parts are not shown. */
function shareOfTopWinner(kept: readonly Priced[]): Figure {
  const byWinner = new Map<string, number>()
  for (const { listing, micro } of kept) {
    const [winner, ...others] = new Set(listing.winners)
    if (micro === null || winner === undefined || others.length > 0) return null
    byWinner.set(winner, (byWinner.get(winner) ?? 0) + micro)
  }
  return largestShare(byWinner.values())
}

function notesOf(kept: readonly Priced[]): (string | false)[] {
  const unknown = kept.filter(({ micro }) => micro === null)
  const unpriced = groupBy(unknown, ({ listing }) => listing.token)
  const isUnnamed = kept.some(({ listing }) => listing.winners === null)
  return [
    'The time of a payout is the announcement of the winners; the transfer follows later and is not in the answers.',
    ...[...unpriced].map(([token, all]) => {
      const stated = all.reduce((sum, { listing }) => sum + Number(listing.amount ?? 0), 0)
      return `Not in the volume, because there is no price: ${all.length} listings with ${stated.toLocaleString('en-US')} ${token}.`
    }),
    isUnnamed && 'Workers are unknown: a listing of the window does not name its winners.',
    !isUnnamed &&
      kept.some(({ listing }) => new Set(listing.winners).size > 1) &&
      'The share of the top worker is unknown: how a reward was split is not in the answers.',
  ]
}
