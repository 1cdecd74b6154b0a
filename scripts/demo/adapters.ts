/** Adapters of the invented rails: payments are read from the logs of a contract, or as totals from an API. */
import { parseAbi } from 'viem'
import { z } from 'zod'

import { selectors } from '../../builder/chain/logs.ts'
import { isEvmChain } from '../../builder/chain/receipt-verdict.ts'
import { defineRail } from '../../builder/rails/adapter.ts'
import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { aggregateLogs, reduceStream } from '../../builder/rails/aggregated-logs.ts'
import {
  countField,
  evidenceOf,
  microFromUsd,
  parseAnswer,
  timeField,
} from '../../builder/rails/answers.ts'
import { payoutAt } from '../../builder/rails/payouts.ts'
import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { dayMs, secondMs } from '../../src/core/time.ts'
import { demoRails, hostOf } from './rails.ts'
import type { DemoRail } from './rails.ts'
import { contractOf, paidEvent, removalOf } from './world.ts'

const events = parseAbi([paidEvent])
const invented = 'Invented for a demo: nobody made these payments.'

/** The rails that are polled on a day. */
export function adaptersOn(day: number): readonly AnyRailAdapter[] {
  const isNew = ({ acts }: DemoRail) => acts.some(([kind]) => kind === 'busy')
  const added = new Set(demoRails.filter(isNew).map(({ rail }) => rail))
  return demoAdapters.filter(({ rail }) => day === 0 || !added.has(rail))
}

export const demoAdapters: readonly AnyRailAdapter[] = demoRails.flatMap((demo) => {
  const { chain, trade } = demo
  if (trade === null) return []
  return [isEvmChain(chain) ? logRail(demo, chain) : statementRail(demo)]
})

function logRail(demo: DemoRail, chain: EvmChainName): AnyRailAdapter {
  const isLookedUp = demo.acts.some(([kind]) => kind === 'funder' || kind === 'collector')
  return defineRail({
    rail: demo.rail,
    rule: {
      name: 'paid-events',
      version: '1',
      text: 'Volume is the amount of every Paid event of the contract, in USDC. Removed: payments of a wallet to itself (self_payment) and to the test wallet of the operator (test_payment).',
    },
    chains: [chain],
    ...(isLookedUp ? { lookUps: chain } : {}),
    read: async (ctx) =>
      await aggregateLogs(ctx, {
        chain,
        streams: ['payments'],
        abi: events,
        filters: [{ addresses: [contractOf(demo)], topics: [selectors(events)] }],
        chunkBlocks: Math.ceil(dayMs / secondMs / chains[chain].blockSeconds),
        toPayouts: async ({ logs }) => {
          const payments = logs.map((log) => {
            const { payer, payee, amount } = log.event.args
            const removedBy = removalOf(demo, {
              from: payer.toLowerCase(),
              to: payee.toLowerCase(),
            })
            return payoutAt(log, payer, payee, {
              units: amount,
              microUsdc: Number(amount),
              removedBy,
            })
          })
          return await Promise.resolve({ payouts: { payments } })
        },
      }),
    reduce: (read, window) => reduceStream(read, 'payments', window, { notes: [invented] }),
  })
}

const usdc = z.object({ days_30: z.number(), days_7: z.number() })
const statement = z.object({
  all_usdc: usdc,
  kept_usdc: usdc,
  customers: countField,
  workers: countField,
  largest_worker_share: z.number(),
  payments: countField,
  removed: z.record(z.string(), countField),
  last_payment_at: timeField.nullable(),
})

function statementRail(demo: DemoRail): AnyRailAdapter {
  const isPaid = demo.trade?.usdc !== 0
  return defineRail({
    rail: demo.rail,
    rule: {
      name: 'stated-payments',
      version: '1',
      text: 'Figures are the totals that the API states for 30 and 7 days. It removes payments to oneself (self_payment) and tests (test_payment), and does not show who paid whom.',
    },
    hosts: [`https://api.${hostOf(demo.rail)}`],
    read: async ({ http }) => {
      const answer = await http.json(`https://api.${hostOf(demo.rail)}/v1/payments/summary`)
      return { stated: parseAnswer(statement, answer), evidence: [evidenceOf(answer, 1)] }
    },
    reduce: ({ stated, evidence }) => {
      const micro = (amount: number) => (isPaid ? microFromUsd(amount) : null)
      return {
        figures: {
          tpv30dMicroUsdc: micro(stated.kept_usdc.days_30),
          tpv7dMicroUsdc: micro(stated.kept_usdc.days_7),
          tpv30dRawMicroUsdc: micro(stated.all_usdc.days_30),
          tpv7dRawMicroUsdc: micro(stated.all_usdc.days_7),
          uniqueCreators30d: stated.customers,
          uniqueWorkers30d: stated.workers,
          topWorkerShare: stated.largest_worker_share,
          activity30d: stated.payments,
          lastPayoutAtMs: stated.last_payment_at,
        },
        removed30d: stated.removed,
        notes: [invented],
        evidence,
      }
    },
  })
}
