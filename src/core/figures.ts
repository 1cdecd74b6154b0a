import { z } from 'zod'

import { entriesOf } from './entries.ts'
import { toUsdc } from './money.ts'
import type { PaymentFacts } from './rules/facts.ts'

/** Null means unknown; 0 means known to be zero. */
export type Figure = number | null

/** Quartiles of what a paid worker earned a day. Null also if fewer than ten workers were paid. */
export const unknownWorkerIncome = {
  workerPerDayLowMicroUsdc: null,
  workerPerDayMedianMicroUsdc: null,
  workerPerDayHighMicroUsdc: null,
} as const

const unknown = {
  ...unknownWorkerIncome,
  tpv30dMicroUsdc: null,
  tpv7dMicroUsdc: null,
  tpv30dRawMicroUsdc: null,
  tpv7dRawMicroUsdc: null,
  /** Without money that came back to its payers, stayed within one party, or was earned on the rail and passed on. */
  tpv30dNetMicroUsdc: null,
  uniqueCreators30d: null,
  /** Payers, where wallets that share a source of funds count as one. */
  parties30d: null,
  uniqueWorkers30d: null,
  topWorkerShare: null,
  /** Parties that pay 1 USDC net or more, or accounts with a budget; null falls back to `uniqueCreators30d`. */
  creatorsWithBudget30d: null,
  /** Number of payouts, or of other actions if the rail makes no payments. */
  activity30d: null,
  lastPayoutAtMs: null,
}
export type Figures = Readonly<Record<keyof typeof unknown, Figure>>
export const unknownFigures: Figures = unknown

export type CountedFigure = Exclude<keyof Figures, 'lastPayoutAtMs'>

/** The figure with each published name. Amounts are published in USDC. */
const publicFields = {
  tpv_30d_usdc: 'tpv30dMicroUsdc',
  tpv_7d_usdc: 'tpv7dMicroUsdc',
  tpv_30d_raw_usdc: 'tpv30dRawMicroUsdc',
  tpv_7d_raw_usdc: 'tpv7dRawMicroUsdc',
  tpv_30d_net_usdc: 'tpv30dNetMicroUsdc',
  parties_30d: 'parties30d',
  unique_creators_30d: 'uniqueCreators30d',
  unique_workers_30d: 'uniqueWorkers30d',
  top_worker_share: 'topWorkerShare',
  worker_usd_per_day_low: 'workerPerDayLowMicroUsdc',
  worker_usd_per_day_median: 'workerPerDayMedianMicroUsdc',
  worker_usd_per_day_high: 'workerPerDayHighMicroUsdc',
} as const satisfies Readonly<Record<string, CountedFigure>>
export type FigureName = keyof typeof publicFields

export const figureNames = entriesOf(publicFields).map(([name]) => name)

/** In USDC, as a count or as a share with six decimals; null means unknown. */
export function publicFigure(figures: Figures, name: FigureName): number | null {
  const value = figures[publicFields[name]]
  if (value === null) return null
  if (publicFields[name].endsWith('MicroUsdc')) return toUsdc(value)
  return name === 'top_worker_share' ? Math.round(value * 1e6) / 1e6 : value
}

/** Reads a published figure: null if it is named in `unknown_figures`, or if an older document does not have it. */
export function knownFigure<Name extends FigureName>(
  view: { readonly [Figure in Name]?: number | undefined } & {
    readonly unknown_figures: readonly FigureName[]
  },
  name: Name,
): number | null {
  return view.unknown_figures.includes(name) ? null : (view[name] ?? null)
}

/** As published. */
export const evidencePointer = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('http'),
    url: z.string(),
    sha256: z.string(),
    items: z.number(),
  }),
  z.strictObject({
    kind: z.literal('logs'),
    chain: z.string(),
    contract: z.string(),
    from_block: z.number(),
    to_block: z.number(),
    logs: z.number(),
  }),
])
export type EvidencePointer = Readonly<z.infer<typeof evidencePointer>>

export interface Measurement {
  readonly figures: Figures
  /** Payouts removed by the filter rule over 30 days, by reason. */
  readonly removed30d: Readonly<Record<string, number>>
  /** Notes on amounts without a price, on lower bounds, and on why a figure is unknown. */
  readonly notes: readonly string[]
  readonly evidence: readonly EvidencePointer[]
  /** Only of rails that name who paid whom. */
  readonly facts?: PaymentFacts
}

const maxVolumeUsdc = 1e9

/** Returns one text for each figure that cannot be true. */
export function impossibleFigures(figures: Figures): readonly string[] {
  const values: readonly (readonly [string, Figure])[] = [
    ...figureNames.map((name) => [name, publicFigure(figures, name)] as const),
    ['creators with a budget', figures.creatorsWithBudget30d],
    ['activity of 30 days', figures.activity30d],
    ['last_payout_at', figures.lastPayoutAtMs],
  ]
  const problems: string[] = []
  for (const [name, value] of values) {
    if (value === null) continue
    if (!Number.isFinite(value)) problems.push(`${name} is not a number`)
    else if (value < 0) problems.push(`${name} is negative (${value})`)
    else if (name.endsWith('_usdc') && value > maxVolumeUsdc) {
      problems.push(`${name} is above a billion USDC`)
    }
  }
  if ((figures.topWorkerShare ?? 0) > 1) {
    problems.push(`top_worker_share is above 1 (${figures.topWorkerShare})`)
  }
  for (const [part, whole] of orderedPairs) {
    const [smaller, larger] = [publicFigure(figures, part), publicFigure(figures, whole)]
    if (smaller !== null && larger !== null && smaller > larger) {
      problems.push(`${part} (${smaller}) is above ${whole} (${larger})`)
    }
  }
  return problems
}

/** The first figure of a pair never exceeds the second. */
const orderedPairs: readonly (readonly [FigureName, FigureName])[] = [
  ['tpv_7d_usdc', 'tpv_30d_usdc'],
  ['tpv_7d_raw_usdc', 'tpv_30d_raw_usdc'],
  ['tpv_30d_usdc', 'tpv_30d_raw_usdc'],
  ['tpv_7d_usdc', 'tpv_7d_raw_usdc'],
  ['tpv_30d_net_usdc', 'tpv_30d_usdc'],
]
