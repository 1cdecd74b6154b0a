/** Judges made-up or exported payments with the code that judges rails. */
import { z } from 'zod'

import { toUsdc } from '../../src/core/money.ts'
import { decidePoll, stateFromAudit } from '../../src/core/rail-poll.ts'
import type { WalletFacts } from '../../src/core/rules/facts.ts'
import { reasonText } from '../../src/core/rules/status.ts'
import { dayMs } from '../../src/core/time.ts'
import {
  TryLineError,
  parseTryLine,
  tryAmount,
  tryTime,
  tryTransfer,
  tryWallet,
  tryWalletFacts,
} from '../../src/core/try-lines.ts'
import { aggregatePayouts, reducePayouts } from './payouts.ts'
import type { Payout } from './payouts.ts'
import { windowEndingAt } from './window.ts'

const railStart = z.object({
  rail: z.string().min(1).max(200),
  end: tryTime,
  basis: z.enum(['payments', 'activity']).default('payments'),
  volume_known: z.boolean().default(true),
})
const payment = z.object({
  at: tryTime,
  tx: z.string().max(200).nullish(),
  payer: tryWallet.nullable(),
  payee: tryWallet,
  amount_usdc: tryAmount.nullable(),
  removed_by: z.string().min(1).max(80).nullish(),
})
const offers = z.object({
  count: z.int().min(0),
  creators: z.int().min(0),
  volume_known: z.boolean().default(true),
})
const bodyLine = z
  .object({
    payment: payment.optional(),
    transfer: tryTransfer.optional(),
    wallet: tryWalletFacts.optional(),
    offers: offers.optional(),
    volume_known: z.boolean().optional(),
  })
  .refine(
    (line) =>
      [line.payment, line.transfer, line.wallet, line.offers, line.volume_known].some(
        (one) => one !== undefined,
      ),
    'must have a member rail, payment, transfer, wallet or offers',
  )

/** `rail` before any inner object. */
const railLine = /^\s*\{[^{]*"rail"\s*:/

interface TriedInput {
  readonly start: z.infer<typeof railStart>
  readonly payments: z.infer<typeof payment>[]
  readonly transfers: z.infer<typeof tryTransfer>[]
  readonly wallets: z.infer<typeof tryWalletFacts>[]
  offers: z.infer<typeof offers> | null
  isVolumeKnown: boolean
}

export interface TriedFlag {
  readonly kind: string
  readonly severity: string
  readonly evidence: object
}

export interface TriedRail {
  readonly rail: string
  readonly status: string
  readonly flags: readonly TriedFlag[]
  readonly figures: Readonly<Record<string, number | null>>
  readonly reasons: readonly string[]
}

/** One result per rail, as soon as its lines end. @throws TryLineError that names the line */
export function* tryRules(lines: Iterable<string>): Generator<TriedRail> {
  let input: TriedInput | null = null
  let number = 0
  for (const text of lines) {
    number += 1
    if (text.trim() === '') continue
    if (railLine.test(text)) {
      if (input !== null) yield judgeInput(input)
      const start = parseTryLine(railStart, text, number)
      const isVolumeKnown = start.volume_known
      input = { start, payments: [], transfers: [], wallets: [], offers: null, isVolumeKnown }
      continue
    }
    const line = parseTryLine(bodyLine, text, number)
    if (input === null) throw new TryLineError(`line ${number}: comes before the first rail`)
    if (line.payment !== undefined) input.payments.push(line.payment)
    if (line.transfer !== undefined) input.transfers.push(line.transfer)
    if (line.wallet !== undefined) input.wallets.push(line.wallet)
    if (line.offers !== undefined) input.offers = line.offers
    if (line.volume_known === false || line.offers?.volume_known === false) {
      input.isVolumeKnown = false
    }
  }
  if (input !== null) yield judgeInput(input)
}

function judgeInput(input: TriedInput): TriedRail {
  const { rail, end, basis } = input.start
  const past = stateFromAudit({ rail, status: 'pre-traction', asOfMs: end, figures: {} })
  const { state, raised } = decidePoll(
    past,
    { kind: 'good', measurement: measure(input) },
    { displayName: rail, basis, startedAtMs: end, durationMs: 0, pollEveryMs: dayMs },
  )
  const { figures } = state
  const usdc = (micro: number | null) => (micro === null ? null : toUsdc(micro))
  return {
    rail,
    status: state.status,
    flags: raised.map(({ kind, finding: { severity, evidence } }) => ({
      kind,
      severity,
      evidence,
    })),
    figures: {
      tpv_30d_usdc: usdc(figures.tpv30dMicroUsdc),
      tpv_30d_raw_usdc: usdc(figures.tpv30dRawMicroUsdc),
      tpv_30d_net_usdc: usdc(figures.tpv30dNetMicroUsdc),
      unique_creators_30d: figures.uniqueCreators30d,
      parties_30d: figures.parties30d,
      funded_creators_30d: figures.creatorsWithBudget30d,
      unique_workers_30d: figures.uniqueWorkers30d,
      top_worker_share: figures.topWorkerShare,
      activity_30d: figures.activity30d,
    },
    reasons: state.statusReasons.map(reasonText),
  }
}

function measure(input: TriedInput) {
  const { payments, transfers, start } = input
  const payouts = payments.map(
    ({ at, payer, payee, amount_usdc: microUsdc, removed_by: removedBy = null }): Payout => ({
      atMs: at,
      block: 0,
      payer,
      payee,
      units: BigInt(microUsdc ?? 0),
      microUsdc,
      removedBy,
    }),
  )
  const options = { lastPayoutAtMs: null, notes: [], evidence: [] }
  const hours = aggregatePayouts([], payouts)
  const measured = reducePayouts(hours, windowEndingAt(start.end), options)
  const volume = input.isVolumeKnown
    ? {}
    : {
        tpv30dMicroUsdc: null,
        tpv7dMicroUsdc: null,
        tpv30dRawMicroUsdc: null,
        tpv7dRawMicroUsdc: null,
      }
  const { uniqueCreators30d, activity30d } = measured.figures
  const { count = 0, creators = 0 } = input.offers ?? {}
  const figures = {
    ...measured.figures,
    ...volume,
    uniqueCreators30d: Math.max(uniqueCreators30d ?? 0, creators),
    activity30d: (activity30d ?? 0) + count,
  }
  const { facts } = measured
  if (facts === undefined || transfers.length === 0) return { ...measured, figures }
  const lookedUp = {
    payers: new Set(payments.flatMap(({ payer }) => payer ?? [])),
    payees: new Set(payments.map(({ payee }) => payee)),
  }
  const days = transfers.map(({ at, from, to, amount_usdc: microUsdc }) => ({
    day: Math.floor(at / dayMs),
    from,
    to,
    count: 1,
    microUsdc,
  }))
  return {
    ...measured,
    figures,
    facts: { ...facts, transfers: days, lookedUp, wallets: walletsOf(input) },
  }
}

const noHub: WalletFacts = { listedHub: false, ageDays: 0, recipients: 0, contract: null }

/** A wallet without a line, or with nothing in it, is no hub. Without any line nothing is known, and no wallet links others. */
function walletsOf({ wallets, transfers }: TriedInput): ReadonlyMap<string, WalletFacts> {
  if (wallets.length === 0) return new Map()
  const seen = transfers.flatMap(({ from, to }) => [from, to])
  const known = new Map(seen.map((address): [string, WalletFacts] => [address, noHub]))
  for (const wallet of wallets) {
    const { address, listed_hub: listedHub, age_days: ageDays = null, recipients = null } = wallet
    const tested = ageDays === null && recipients === null ? noHub : { ageDays, recipients }
    const { contract = null } = wallet
    known.set(address, { ...noHub, ...tested, listedHub: listedHub === true, contract })
  }
  return known
}
