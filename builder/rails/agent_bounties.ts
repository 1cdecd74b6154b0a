import { z } from 'zod'

import { groupBy } from '../../src/core/group-by.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { defineRail } from './adapter.ts'
import type { EvidencePointer } from './adapter.ts'
import { countField, countText, readRows, timeField } from './answers.ts'
import { aggregatePayouts, newestPayout, payoutAt, reducePayouts } from './payouts.ts'
import type { Payout } from './payouts.ts'

const host = 'https://api.agentbounties.app'

/** The events of each generation of the contracts. */
const feeds = ['autonomous-bounties', 'open-competition-v1', 'open-competition-v2-beta3'] as const
const settlements: ReadonlySet<string> = new Set(['bounty_settled', 'competition_settled'])

const ceilingUsdc = 10_000

const eventShape = z
  .object({
    tx_hash: z.string().min(1),
    log_index: countField,
    block_number: countField,
    bounty_id: z.string().min(1),
    kind: z.string(),
    occurred_at: timeField,
    /** Amounts in base units of USDC. */
    data: z.object({
      solver: z.string().nullish(),
      solver_reward: countField.nullish(),
      contributor: z.string().nullish(),
      amount: countField.nullish(),
    }),
  })
  .refine(
    ({ kind, data }) =>
      !settlements.has(kind) || (data.solver !== undefined && data.solver_reward !== undefined),
    'is a settlement without solver and solver_reward',
  )
  .refine(
    ({ kind, data }) =>
      kind !== 'funding_added' || (data.contributor !== undefined && data.amount !== undefined),
    'is a funding without contributor and amount',
  )

const events = z.array(eventShape)
const feedShape = z.union([events, z.object({ events }).transform((feed) => feed.events)])

/** Agent Bounties: contracts on Base, each with the reward of one bounty, whose events the project publishes. */
export const agentBounties = defineRail({
  rail: 'agent_bounties',
  rule: {
    name: 'settled-rewards',
    version: '1',
    text: `A payout is the solver_reward of a settled bounty, dated by its block. The payer is the wallet with the largest funding of the bounty. Bonds that return to a worker are no payment. Removed are bounties that their own solver helped to fund (self_dealing) and rewards above ${ceilingUsdc.toLocaleString('en-US')} USDC.`,
  },
  hosts: [host],
  read: async (ctx) => {
    const pointers: EvidencePointer[] = []
    const payouts: Payout[] = []
    for (const feed of feeds) {
      const url = `${host}/v1/base/${feed}/events?network=base-mainnet`
      const { rows, pointer } = await readRows(ctx, url, feedShape)
      pointers.push(pointer)
      payouts.push(...payoutsOf(rows))
    }
    return { payouts, pointers }
  },
  reduce: ({ payouts, pointers }, window) => {
    const past = payouts.filter(({ atMs }) => atMs < window.endMs)
    const hours = aggregatePayouts([], past)
    return reducePayouts(hours, window, {
      lastPayoutAtMs: newestPayout(hours),
      notes: [
        `${countText(past.length)} bounties have been settled since the project began.`,
        "The events are the project's own index of its contracts; who controls a wallet is unknown.",
      ],
      evidence: pointers,
    })
  },
})

function payoutsOf(feed: readonly z.output<typeof eventShape>[]): readonly Payout[] {
  const unique = new Map(feed.map((event) => [`${event.tx_hash} ${event.log_index}`, event]))
  return [...groupBy(unique.values(), ({ bounty_id: id }) => id).values()].flatMap((ofBounty) => {
    const funders = ofBounty
      .filter(({ kind }) => kind === 'funding_added')
      .toSorted((a, b) => (b.data.amount ?? 0) - (a.data.amount ?? 0))
      .flatMap(({ data }) => data.contributor?.toLowerCase() ?? [])
    return ofBounty.flatMap(
      ({ kind, data: { solver, solver_reward: reward = null }, ...event }) => {
        if (!settlements.has(kind) || typeof solver !== 'string' || reward === null) return []
        const isOwn = funders.includes(solver.toLowerCase())
        const isAbsurd = reward > ceilingUsdc * microPerUsdc
        const removedBy = isOwn ? 'self_dealing' : isAbsurd ? 'above_ceiling' : null
        const at = {
          atMs: event.occurred_at,
          block: event.block_number,
          txHash: event.tx_hash,
          logIndex: event.log_index,
        }
        return [payoutAt(at, funders[0] ?? null, solver, { microUsdc: reward, removedBy })]
      },
    )
  })
}
