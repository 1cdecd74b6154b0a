import { unknownWorkerIncome } from './figures.ts'
import type { Figures } from './figures.ts'
import { flagCaveat } from './flags/index.ts'
import type { FlagFinding } from './flags/kind.ts'
import { quantile } from './median.ts'
import type { RailStatus } from './rules/status.ts'

const daysOfFigures = 30

/** Daily average per worker over 30 days, excluding the top earner. Null if a figure is unknown or fewer than two workers were paid. */
export function expectedMicroUsdcPerDay(
  figures: Pick<Figures, 'tpv30dMicroUsdc' | 'uniqueWorkers30d' | 'topWorkerShare'>,
): number | null {
  const { tpv30dMicroUsdc: volume, uniqueWorkers30d: workers, topWorkerShare: topShare } = figures
  if (volume === null || workers === null || topShare === null || workers < 2) return null
  return Math.floor((volume * (1 - topShare)) / (workers - 1) / daysOfFigures)
}

/** Fewer paid workers give no range, since it would say what single workers earn. */
export const minPaidWorkers = 10

/** Quartiles over the workers with an income. @param incomes micro-USDC of each worker over 30 days; null without a price */
export function workerIncome(
  incomes: readonly (number | null)[],
): Pick<Figures, keyof typeof unknownWorkerIncome> {
  const known = incomes.filter((income) => income !== null)
  const sorted = known.filter((income) => income > 0).sort((a, b) => a - b)
  if (known.length < incomes.length || sorted.length < minPaidWorkers) return unknownWorkerIncome
  const perDay = (share: number) => Math.floor(quantile(sorted, share) / daysOfFigures)
  return {
    workerPerDayLowMicroUsdc: perDay(0.25),
    workerPerDayMedianMicroUsdc: perDay(0.5),
    workerPerDayHighMicroUsdc: perDay(0.75),
  }
}

function creatorMicroUsdcPerDay(
  figures: Pick<Figures, 'tpv30dMicroUsdc' | 'uniqueCreators30d'>,
): number | null {
  const { tpv30dMicroUsdc: volume, uniqueCreators30d: creators } = figures
  if (volume === null || creators === null || creators === 0) return null
  return Math.floor(volume / creators / daysOfFigures)
}

export type EvidenceTier = 'A' | 'B' | 'C' | 'D'

export interface ArbitrageRail {
  readonly rail: string
  readonly status: RailStatus
  readonly judged: boolean
  readonly figures: Pick<
    Figures,
    | 'tpv30dMicroUsdc'
    | 'tpv30dNetMicroUsdc'
    | 'uniqueCreators30d'
    | 'uniqueWorkers30d'
    | 'topWorkerShare'
  >
  readonly entryCostMicroUsdc: number
  readonly evidenceTier: EvidenceTier
  readonly figuresSource: 'poll' | 'audit'
  readonly stale: boolean
  readonly pollFailed: boolean
  /** Open flags, except those about failed polls and stale figures. */
  readonly flags: readonly Pick<FlagFinding, 'severity' | 'title'>[]
}

const tierConfidence = { A: 1, B: 0.7, C: 0.4, D: 0.2 } as const satisfies Record<
  EvidenceTier,
  number
>
const flagFactor = { info: 1, warning: 0.8, critical: 0.5 } as const
const auditFactor = 0.5
const staleFactor = 0.5
const failedFactor = 0.8
const statusFactor = 0.5
const unknownWorkerFactor = 0.5

export const confidenceRule = [
  `The evidence tier of the rail (A ${tierConfidence.A}, B ${tierConfidence.B}, C ${tierConfidence.C}, D ${tierConfidence.D})`,
  `times ${auditFactor} if the figures come from a manual audit instead of a poll`,
  `times ${staleFactor} if the figures are stale, otherwise ${failedFactor} if the last poll failed`,
  `times ${statusFactor} if the rail is not paying`,
  `times ${unknownWorkerFactor} if the income per worker is unknown`,
  `times ${flagFactor.warning} for each open warning and ${flagFactor.critical} for each open critical flag; 0 if the ranking figure is unknown.`,
].join(', ')

export const arbitrageCaveats = [
  'The figures are averages of the last 30 days over everyone who was paid. They show past earnings of others and promise nothing.',
  'USD per creator is the daily spending of one paying party, shared by all its workers.',
  'The entry cost is money only; it excludes work, fees, gas and compute.',
  'Figures exclude what the filter rule of the rail removes. They still include wash trading that no rule detects.',
] as const

export function rankRails<Rail extends ArbitrageRail>(rails: readonly Rail[]) {
  const expected = rails.map((rail) => ({ ...rail, ...expectationOf(rail) }))
  return expected.toSorted((a, b) => {
    return (
      (b.perCreatorMicroUsdc ?? -1) - (a.perCreatorMicroUsdc ?? -1) ||
      (b.perWorkerMicroUsdc ?? -1) - (a.perWorkerMicroUsdc ?? -1) ||
      (a.rail < b.rail ? -1 : 1)
    )
  })
}

function expectationOf(rail: ArbitrageRail) {
  const perCreator = creatorMicroUsdcPerDay(rail.figures)
  const perWorker = expectedMicroUsdcPerDay(rail.figures)
  return {
    perCreatorMicroUsdc: perCreator,
    perWorkerMicroUsdc: perWorker,
    breakevenDays: breakevenDays(rail.entryCostMicroUsdc, perWorker),
    confidence: confidenceOf(rail, perCreator, perWorker),
    caveats: caveatsOf(rail, perCreator, perWorker),
  }
}

function breakevenDays(entryCost: number, perWorker: number | null): number | null {
  if (entryCost === 0) return 0
  return perWorker === null || perWorker === 0 ? null : Math.ceil(entryCost / perWorker)
}

function confidenceOf(
  rail: ArbitrageRail,
  perCreator: number | null,
  perWorker: number | null,
): number {
  if (perCreator === null) return 0
  let confidence: number = tierConfidence[rail.evidenceTier]
  if (rail.figuresSource === 'audit') confidence *= auditFactor
  if (rail.stale) confidence *= staleFactor
  else if (rail.pollFailed) confidence *= failedFactor
  if (rail.status !== 'paying') confidence *= statusFactor
  if (perWorker === null) confidence *= unknownWorkerFactor
  for (const { severity } of rail.flags) confidence *= flagFactor[severity]
  return Math.round(confidence * 100) / 100
}

export const statusCaveats = {
  paying: null,
  'pre-traction': 'Fewer than five creators with a budget.',
  concentrated: 'One worker or service earns nearly everything.',
  potemkin: 'At most one creator is active.',
  dormant: 'No payout and no volume in 30 days.',
} as const satisfies Record<RailStatus, string | null>

function caveatsOf(
  rail: ArbitrageRail,
  perCreator: number | null,
  perWorker: number | null,
): readonly string[] {
  const { figures, figuresSource, stale, pollFailed, status, judged, entryCostMicroUsdc } = rail
  const caveats = [
    figuresSource === 'audit'
      ? 'The figures come from a manual audit: no poll has succeeded yet.'
      : null,
    stale ? 'No successful poll in the last two cycles.' : null,
    pollFailed && !stale ? 'The last poll failed; figures are carried over.' : null,
    judged ? statusCaveats[status] : 'The rail is not judged: too little is known.',
    perCreator === null ? unknownCreator(figures) : notNet(figures),
    perWorker === null
      ? 'Earnings per worker are unknown, because a figure is missing (volume, workers or top share) or only one worker is paid.'
      : null,
    entryCostMicroUsdc > 0 && perWorker === 0
      ? 'The expected income is less than a micro-USDC a day, so it never covers the entry cost.'
      : null,
  ]
  return [...caveats.filter((caveat) => caveat !== null), ...rail.flags.map(flagCaveat)]
}

/** Says how much of the volume, from which income is expected, the net volume leaves out; null below one percent. */
export function notNet({
  tpv30dMicroUsdc: volume,
  tpv30dNetMicroUsdc: net,
}: Pick<Figures, 'tpv30dMicroUsdc' | 'tpv30dNetMicroUsdc'>): string | null {
  const percent = volume === null || net === null ? 0 : Math.round((1 - net / volume) * 100)
  return percent >= 1
    ? `${percent} % of the volume came back to its payers, stayed within one party or was passed on; the expected income includes it.`
    : null
}

function unknownCreator({ tpv30dMicroUsdc, uniqueCreators30d }: ArbitrageRail['figures']): string {
  return tpv30dMicroUsdc !== null && uniqueCreators30d === 0
    ? 'No creator paid in 30 days.'
    : 'Volume or the number of creators is unknown, so the rail cannot be ranked.'
}
