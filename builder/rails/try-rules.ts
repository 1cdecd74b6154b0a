/** Judges invented or exported payments with the code that judges rails. */
import { z } from 'zod'

import { figureNames, publicFigure, unknownWorkerIncome } from '../../src/core/figures.ts'
import type { Measurement } from '../../src/core/figures.ts'
import { decidePoll, stateFromAudit } from '../../src/core/rail-poll.ts'
import type { WalletFacts } from '../../src/core/rules/facts.ts'
import { reasonText } from '../../src/core/rules/status.ts'
import { dayMs } from '../../src/core/time.ts'
import {
  TryLineError,
  notListed,
  readTryLines,
  tryAmount,
  tryTime,
  tryTransfer,
  tryWallet,
  tryWalletFacts,
} from '../../src/core/try-lines.ts'
import { aggregatePayouts, reducePayouts } from './payouts.ts'
import type { Payout } from './payouts.ts'
import { windowEndingAt } from './window.ts'

const payment = z
  .object({
    at: tryTime,
    tx: z.string().max(200).nullish(),
    payer: tryWallet.nullable(),
    payee: tryWallet,
    amount_usdc: tryAmount.nullable(),
    removed_by: z.string().min(1).max(80).nullish(),
  })
  .transform(({ at: atMs, payer, payee, amount_usdc: microUsdc, removed_by: removedBy = null }) => {
    const units = BigInt(microUsdc ?? 0)
    return { atMs, block: 0, payer, payee, units, microUsdc, removedBy } satisfies Payout
  })
const offers = z.object({
  count: z.int().min(0),
  creators: z.int().min(0),
  volume_known: z.boolean().optional(),
})
const members = ['rail', 'payment', 'transfer', 'wallet', 'offers', 'volume_known'] as const
const tryLine = z
  .object({
    rail: z.string().min(1).max(200).optional(),
    end: tryTime.optional(),
    basis: z.enum(['payments', 'activity']).default('payments'),
    payment: payment.optional(),
    transfer: tryTransfer.optional(),
    wallet: tryWalletFacts.optional(),
    offers: offers.optional(),
    volume_known: z.boolean().optional(),
  })
  .refine(
    (line) => members.some((member) => line[member] !== undefined),
    'must have a member rail, payment, transfer, wallet or offers',
  )

interface TriedInput {
  readonly rail: string
  readonly endMs: number
  readonly basis: z.infer<typeof tryLine>['basis']
  readonly payouts: Payout[]
  readonly transfers: z.infer<typeof tryTransfer>[]
  readonly wallets: Map<string, WalletFacts>
  offers: z.infer<typeof offers>
  isVolumeKnown: boolean
}

/** One result per rail, as soon as its lines end. @throws TryLineError that names the line */
export function* tryRules(lines: Iterable<string>) {
  let input: TriedInput | null = null
  for (const [line, number] of readTryLines(tryLine, lines)) {
    const { rail, end: endMs, basis } = line
    if (rail !== undefined) {
      if (input !== null) yield judgeInput(input)
      if (endMs === undefined) throw new TryLineError(number, 'end: must be an RFC 3339 time')
      const none = { payouts: [], transfers: [], wallets: new Map<string, WalletFacts>() }
      const nothing = { count: 0, creators: 0 }
      input = { rail, endMs, basis, ...none, offers: nothing, isVolumeKnown: true }
    }
    if (input === null) throw new TryLineError(number, 'comes before the first rail')
    if (line.payment !== undefined) input.payouts.push(line.payment)
    if (line.transfer !== undefined) input.transfers.push(line.transfer)
    if (line.wallet !== undefined) input.wallets.set(...line.wallet)
    if (line.offers !== undefined) input.offers = line.offers
    if (line.volume_known === false || line.offers?.volume_known === false) {
      input.isVolumeKnown = false
    }
  }
  if (input !== null) yield judgeInput(input)
}

function judgeInput(input: TriedInput) {
  const { rail, endMs, basis } = input
  const { state, raised } = decidePoll(
    stateFromAudit({ rail, status: 'pre-traction', asOfMs: endMs, figures: {} }),
    { kind: 'good', measurement: measure(input) },
    { displayName: rail, basis, startedAtMs: endMs, durationMs: 0, pollEveryMs: dayMs },
  )
  const { figures, status, statusReasons } = state
  const published = figureNames.map((name) => [name, publicFigure(figures, name)] as const)
  return {
    rail,
    status,
    flags: raised.map(({ kind, finding: { severity, evidence } }) => {
      return { kind, severity, evidence }
    }),
    figures: {
      ...Object.fromEntries(published),
      funded_creators_30d: figures.creatorsWithBudget30d,
      activity_30d: figures.activity30d,
    },
    reasons: statusReasons.map(reasonText),
  }
}

const unknownVolume = {
  ...unknownWorkerIncome,
  tpv30dMicroUsdc: null,
  tpv7dMicroUsdc: null,
  tpv30dRawMicroUsdc: null,
  tpv7dRawMicroUsdc: null,
}

function measure({ endMs, payouts, transfers, wallets, ...input }: TriedInput): Measurement {
  const measured = reducePayouts(aggregatePayouts([], payouts), windowEndingAt(endMs), {
    lastPayoutAtMs: null,
    notes: [],
    evidence: [],
  })
  const { uniqueCreators30d, activity30d } = measured.figures
  const figures = {
    ...measured.figures,
    ...(input.isVolumeKnown ? {} : unknownVolume),
    uniqueCreators30d: Math.max(uniqueCreators30d ?? 0, input.offers.creators),
    activity30d: (activity30d ?? 0) + input.offers.count,
  }
  const { facts } = measured
  if (facts === undefined || transfers.length === 0) return { ...measured, figures }
  // With any line about a wallet, those without one are not hubs. Without one, no wallet links others.
  const others = wallets.size === 0 ? [] : transfers.flatMap(({ from, to }) => [from, to])
  const known = new Map(others.map((wallet) => [wallet, notListed]))
  for (const [wallet, one] of wallets) known.set(wallet, one)
  return {
    ...measured,
    figures,
    facts: {
      ...facts,
      transfers: transfers.map(({ at, ...transfer }) => {
        return { day: Math.floor(at / dayMs), count: 1, ...transfer }
      }),
      lookedUp: {
        payers: new Set([
          ...payouts.flatMap(({ payer }) => payer ?? []),
          ...transfers.map(({ to }) => to),
        ]),
        payees: new Set(payouts.map(({ payee }) => payee)),
      },
      wallets: known,
    },
  }
}
