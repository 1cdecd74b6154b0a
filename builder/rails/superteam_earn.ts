import { z } from 'zod'

import { maxAmountUsdc, microPerUsdc } from '../../src/core/money.ts'
import { defineRail } from './adapter.ts'
import type { EvidencePointer, Figure, AdapterContext } from './adapter.ts'
import {
  amountField,
  countExcept,
  evidenceOf,
  groupBy,
  microFromUsd,
  parseAnswer,
  timeField,
} from './answers.ts'
import { isWithin } from './window.ts'
const host = 'https://superteam.fun'

/** Tokens worth one dollar; others have no price here. */
const dollarTokens: ReadonlySet<string> = new Set(['USDC', 'USDG', 'USDT'])

const ceilingUsdc = 1_000_000

const listingShape = z.object({
  id: z.string().min(1),
  rewardAmount: amountField.nullish(),
  token: z.string().nullish(),
  winnersAnnouncedAt: timeField.nullish(),
  agentAccess: z.string().min(1),
  sponsor: z.object({ slug: z.string().min(1) }),
})

const winnersShape = z.array(
  z.object({
    user: z.object({ id: z.string().min(1) }).nullish(),
    userId: z.string().nullish(),
  }),
)

interface Listing {
  readonly id: string
  readonly announcedAtMs: number
  readonly sponsor: string
  readonly token: string
  readonly amount: number | string | null
  readonly openToAgents: boolean
}

interface Win {
  readonly listing: string
  readonly winners: readonly string[] | null
}

interface Evidence {
  readonly listings: readonly Listing[]
  readonly wins: readonly Win[]
  readonly pointers: readonly EvidencePointer[]
}

/** Each of the two lists of Superteam Earn omits a part of the other, so both are read and joined by id. */
export const superteamEarn = defineRail<Evidence>({
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
    const announced = [...listings.values()].filter(({ announcedAtMs }) =>
      isWithin(announcedAtMs, ctx.window.start30dMs, ctx.window),
    )
    const wins: Win[] = []
    for (const { id, openToAgents } of announced) {
      if (openToAgents) wins.push(await readWinners(ctx, id, pointers))
    }
    return { listings: [...listings.values()], wins, pointers }
  },
  reduce: ({ listings, wins, pointers }, window) => {
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
    const winners = kept.map(
      ({ listing }) => wins.find((win) => win.listing === listing.id)?.winners ?? null,
    )
    return {
      figures: {
        tpv30dMicroUsdc: sum(window.start30dMs, true),
        tpv7dMicroUsdc: sum(window.start7dMs, true),
        tpv30dRawMicroUsdc: sum(window.start30dMs, false),
        tpv7dRawMicroUsdc: sum(window.start7dMs, false),
        uniqueCreators30d: new Set(kept.map(({ listing }) => listing.sponsor)).size,
        uniqueWorkers30d: distinctWinners(winners),
        topWorkerShare: shareOfTopWinner(
          kept.map(({ micro }, at) => ({ micro, winners: winners[at] ?? null })),
        ),
        activity30d: kept.length,
        lastPayoutAtMs: newest(
          listings.filter(
            (listing) => listing.announcedAtMs < window.endMs && judge(listing).removedBy === null,
          ),
        ),
      },
      removed30d: countExcept(
        verdicts.map(({ removedBy }) => removedBy ?? 'kept'),
        'kept',
      ),
      notes: notesOf(kept, winners),
      evidence: pointers,
    }
  },
})

async function readListings(
  ctx: AdapterContext,
  context: string,
  pointers: EvidencePointer[],
): Promise<Listing[]> {
  const answer = await ctx.http.json(
    `${host}/api/listings?context=${context}&tab=all&category=All&status=completed&sortBy=Date&order=desc`,
  )
  const listings = parseAnswer(z.array(listingShape), answer)
  pointers.push(evidenceOf(answer, listings.length))
  return listings.flatMap((listing) =>
    listing.winnersAnnouncedAt === null || listing.winnersAnnouncedAt === undefined
      ? []
      : [
          {
            id: listing.id,
            announcedAtMs: listing.winnersAnnouncedAt,
            sponsor: listing.sponsor.slug,
            token: listing.token ?? 'unnamed token',
            amount: listing.rewardAmount ?? null,
            openToAgents: listing.agentAccess !== 'HUMAN_ONLY',
          },
        ],
  )
}

async function readWinners(
  ctx: AdapterContext,
  listing: string,
  pointers: EvidencePointer[],
): Promise<Win> {
  const answer = await ctx.http.json(`${host}/api/listings/${encodeURIComponent(listing)}/winners`)
  const rows = parseAnswer(winnersShape, answer)
  pointers.push(evidenceOf(answer, rows.length))
  const named = rows.flatMap(({ user, userId }) => user?.id ?? userId ?? [])
  return { listing, winners: named.length === rows.length && rows.length > 0 ? named : null }
}

function judge(listing: Listing): { removedBy: string | null; micro: Figure } {
  const micro =
    dollarTokens.has(listing.token) && listing.amount !== null ? microFromUsd(listing.amount) : null
  if (dollarTokens.has(listing.token) && listing.amount !== null) {
    // Amounts beyond the ledger are left out of the raw figure too.
    if (micro === null || micro > maxAmountUsdc * microPerUsdc) {
      return { removedBy: 'above_ceiling', micro: 0 }
    }
    if (micro > ceilingUsdc * microPerUsdc) return { removedBy: 'above_ceiling', micro }
  }
  return { removedBy: listing.openToAgents ? null : 'human_only', micro }
}

/** The sum of known amounts; null where there are amounts and none is known. */
function sumPriced(amounts: readonly Figure[]): Figure {
  const priced = amounts.filter((amount) => amount !== null)
  if (priced.length === 0 && amounts.length > 0) return null
  return priced.reduce((sum, amount) => sum + amount, 0)
}

function distinctWinners(winners: readonly (readonly string[] | null)[]): Figure {
  if (winners.some((named) => named === null)) return null
  return new Set(winners.flatMap((named) => named ?? [])).size
}

/** Null where a reward is split, since the parts are not shown. */
function shareOfTopWinner(
  wins: readonly { readonly micro: Figure; readonly winners: readonly string[] | null }[],
): Figure {
  const byWinner = new Map<string, number>()
  let total = 0
  for (const { micro, winners } of wins) {
    const [winner, ...others] = new Set(winners)
    if (micro === null || winner === undefined || others.length > 0) return null
    byWinner.set(winner, (byWinner.get(winner) ?? 0) + micro)
    total += micro
  }
  return total === 0 ? 0 : Math.max(...byWinner.values()) / total
}

function newest(listings: readonly Listing[]): number | null {
  return listings.reduce<number | null>(
    (latest, { announcedAtMs }) => Math.max(latest ?? announcedAtMs, announcedAtMs),
    null,
  )
}

function notesOf(
  kept: readonly { readonly listing: Listing; readonly micro: Figure }[],
  winners: readonly (readonly string[] | null)[],
): string[] {
  const notes = [
    'The time of a payout is the announcement of the winners; the transfer follows later and is not in the answers.',
  ]
  const unpriced = groupBy(
    kept.filter(({ micro }) => micro === null),
    ({ listing }) => listing.token,
  )
  for (const [token, all] of unpriced) {
    const stated = all.reduce((sum, { listing }) => sum + Number(listing.amount ?? 0), 0)
    notes.push(
      `Not in the volume, for want of a price: ${all.length} listings with ${stated.toLocaleString('en-US')} ${token}.`,
    )
  }
  if (winners.some((named) => named === null)) {
    notes.push('Workers are unknown: a listing of the window does not name its winners.')
  } else if (winners.some((named) => new Set(named).size > 1)) {
    notes.push(
      'The share of the top worker is unknown: how a reward was split is not in the answers.',
    )
  }
  return notes
}
