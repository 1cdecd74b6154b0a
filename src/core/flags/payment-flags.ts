/** Flags about payments: who paid whom, how much and when. */
import { microPerUsdc, toUsdc } from '../money.ts'
import { counted } from '../number-text.ts'
import { total } from '../rules/flows.ts'
import { burstHours } from '../rules/hours.ts'
import type { PartySum, PaymentMeasures } from '../rules/measures.ts'
import { concentratedAbove, largestWorkerShare } from '../rules/status.ts'
import type { FlagDetector, FlagFinding, GoodPoll, Severity } from './kind.ts'

/** Smallest amount that can raise a flag, in micro-USDC. */
const floorMicroUsdc = 10 * microPerUsdc
const singlePaymentAbove = 0.8
const removedAbove = 0.5
/** Payer and payee are one wallet, or wallets that the rail's own list assigns to one operator. Nothing is inferred. */
const ownPaymentReasons = ['self_payment', 'same_operator', 'self_dealing']

/** In the title, `N %` stands for the share. */
interface MeasuredShare {
  readonly microUsdc: number
  /** The default is the gross volume. */
  readonly ofMicroUsdc?: number
  readonly title: string
  readonly evidence?: FlagFinding['evidence']
}

/** A flag about a share of a rail's volume; never raised if it is unknown who paid whom. */
function shareFlag<const Kind extends string>(
  kind: Kind,
  [severity, threshold]: readonly [Severity, number],
  text: string,
  measure: (measures: PaymentMeasures) => MeasuredShare | null,
) {
  return {
    kind,
    text,
    detect: ({ measures }) => {
      const found = measures === null ? null : measure(measures)
      if (measures === null || found === null || found.microUsdc < floorMicroUsdc) return null
      const { microUsdc, ofMicroUsdc = measures.grossMicroUsdc, title, evidence } = found
      const share = microUsdc / ofMicroUsdc
      if (share <= threshold) return null
      const sums = { amount_usdc: toUsdc(microUsdc), of_usdc: toUsdc(ofMicroUsdc) }
      return {
        severity,
        title: title.replace('N %', percentText(share)),
        evidence: { share: roundedShare(share), threshold, ...sums, ...evidence },
      }
    },
  } as const satisfies FlagDetector
}

/** A flag about the share of the raw volume that the filter rule excludes for some reasons. */
function filterFlag<const Kind extends string>(
  kind: Kind,
  [severity, leastMicroUsdc]: readonly [Severity, number],
  text: string,
  title: string,
  removedSum: (poll: GoodPoll) => number | null,
) {
  return {
    kind,
    text,
    detect: (poll) => {
      const raw = poll.figures.tpv30dRawMicroUsdc
      const removed = removedSum(poll)
      if (raw === null || removed === null || removed < leastMicroUsdc) return null
      if (removed <= removedAbove * raw) return null
      return {
        severity,
        title: title.replace('N %', percentText(removed / raw)),
        evidence: {
          tpv_30d_raw_usdc: toUsdc(raw),
          removed_usdc: toUsdc(removed),
          removed_share: roundedShare(removed / raw),
          threshold: removedAbove,
        },
      }
    },
  } as const satisfies FlagDetector
}

export const paymentFlags = [
  {
    kind: 'concentrated',
    text: 'One worker or service receives more than 90 % of the net volume.',
    detect: (poll) => {
      const { uniqueWorkers30d, tpv30dMicroUsdc: volume } = poll.figures
      const share = largestWorkerShare(poll)
      if (share === null || share <= concentratedAbove) return null
      const net = poll.measures?.netMicroUsdc ?? null
      const of = net ?? volume
      // Without a volume, the share refers to payouts or other activity.
      if (of !== null && of > 0 && share * of < floorMicroUsdc) return null
      return {
        severity: 'warning',
        title: `one worker takes more than ${concentratedAbove * 100} %`,
        evidence: {
          top_worker_share: roundedShare(share),
          threshold: concentratedAbove,
          unique_workers_30d: uniqueWorkers30d,
          tpv_30d_usdc: volume === null ? null : toUsdc(volume),
          ...(net === null ? {} : { tpv_30d_net_usdc: toUsdc(net) }),
        },
      }
    },
  },
  filterFlag(
    'self_dealing',
    ['warning', floorMicroUsdc],
    'More than half of the raw volume is between wallets of one operator.',
    'N % of the raw volume is between wallets of one operator',
    (poll) => removedFor(poll, (reason) => ownPaymentReasons.includes(reason)),
  ),
  filterFlag(
    'mostly_filtered',
    ['info', 0],
    'The filter rule excludes more than half of the raw volume, for other reasons.',
    'the filter rule excludes N % of the raw volume',
    filteredSum,
  ),
  shareFlag(
    'circular_flow',
    ['warning', 0.3],
    'More than 30 % of the volume came back to its payers, or stayed within one party: refunds, change or circulation.',
    (measures) => ({
      microUsdc: measures.circularMicroUsdc,
      title: 'N % came back to its payers: refunds, change or circulation',
    }),
  ),
  shareFlag(
    'common_funder',
    ['warning', 0.3],
    'At least five payers, three or more per source of funds, share sources and pay more than 30 %. Payers with one source count as one.',
    ({ payers }) => {
      const shared = payers.filter(({ wallets }) => wallets >= 3)
      const wallets = total(shared.map((party) => party.wallets))
      if (wallets < 5) return null
      const sources =
        shared.length === 1 ? 'a source of funds' : `${shared.length} sources of funds`
      return {
        microUsdc: total(shared.map(({ grossMicroUsdc }) => grossMicroUsdc)),
        title: `${wallets} payers with N % of the volume share ${sources} and count as ${shared.length === 1 ? 'one' : shared.length}`,
        evidence: { payers: wallets, sources: shared.length },
      }
    },
  ),
  shareFlag(
    'linked_workers',
    ['info', 0.5],
    'Three or more workers with more than half of the volume pass most of their income to one wallet.',
    ({ collected }) =>
      ofLargest(collected, 3, ({ wallets }) => ({
        title: `${wallets} workers with N % of the volume pass most of their income to one wallet`,
        evidence: { workers: wallets },
      })),
  ),
  shareFlag(
    'dominant_payer',
    ['info', 0.9],
    'One party other than a hub pays more than 90 % of the net volume, and not in a single payment.',
    ({ payers, netMicroUsdc, grossMicroUsdc, largestPaymentMicroUsdc: largest }) => {
      const [party] = payers
      if (party === undefined || party.isHub || largest > singlePaymentAbove * grossMicroUsdc)
        return null
      return {
        microUsdc: party.netMicroUsdc,
        ofMicroUsdc: netMicroUsdc,
        title: 'one customer pays N % of the net volume',
        evidence: { payers: party.wallets, parties_30d: payers.length },
      }
    },
  ),
  shareFlag(
    'single_payment',
    ['info', singlePaymentAbove],
    'One payment makes up more than 80 % of the volume.',
    ({ largestPaymentMicroUsdc: microUsdc }) => ({ microUsdc, title: 'one payment makes up N %' }),
  ),
  shareFlag(
    'batch_payouts',
    ['info', 0.5],
    'More than half are equal payouts of one payer to 20 or more workers within an hour: rewards or payroll.',
    (measures) => ({
      microUsdc: measures.batchMicroUsdc,
      title: 'N % are equal payouts: rewards or payroll',
    }),
  ),
  shareFlag(
    'burst',
    ['info', 0],
    `Four fifths of 20 or more payments fall into at most ${burstHours} hours.`,
    ({ sessions: { payments, busyHours: hours, busyMicroUsdc: microUsdc } }) => {
      if (payments < 20 || hours > burstHours) return null
      const title = `most payments fall into ${counted(hours, 'hour')}`
      return { microUsdc, title, evidence: { hours, payments } }
    },
  ),
  shareFlag(
    'uniform_payers',
    ['info', 0],
    'Five or more payers pay about the same amounts at regular intervals, or their numbers of payments are more alike than chance allows.',
    ({ uniform }) =>
      uniform && {
        microUsdc: uniform.sumMicroUsdc,
        title: `${uniform.payers} payers pay similar amounts at regular intervals, or equally often`,
        evidence: { payers: uniform.payers, mean_usdc: toUsdc(uniform.meanMicroUsdc) },
      },
  ),
] as const satisfies readonly FlagDetector[]

/** Sources that give only counts by reason give the volume before and after the filter rule. */
function filteredSum(poll: GoodPoll): number | null {
  const { tpv30dRawMicroUsdc: raw, tpv30dMicroUsdc: kept } = poll.figures
  const isOwn = (reason: string) => ownPaymentReasons.includes(reason)
  const reasons = Object.keys(poll.removed)
  const sum = removedFor(poll, (reason) => !isOwn(reason))
  if ((sum !== null && reasons.length > 0) || reasons.some(isOwn)) return sum
  return raw === null || kept === null ? null : raw - kept
}

/** Micro-USDC; null means unknown. */
function removedFor({ removed }: GoodPoll, isMeant: (reason: string) => boolean): number | null {
  let sum = 0
  for (const [reason, { microUsdc }] of Object.entries(removed)) {
    if (!isMeant(reason)) continue
    if (microUsdc === null) return null
    sum += microUsdc
  }
  return sum
}

function ofLargest(
  parties: readonly PartySum[],
  leastWallets: number,
  describe: (party: PartySum) => Pick<MeasuredShare, 'title' | 'evidence'>,
): MeasuredShare | null {
  const [party] = parties
    .filter(({ wallets }) => wallets >= leastWallets)
    .toSorted((a, b) => b.grossMicroUsdc - a.grossMicroUsdc)
  return party === undefined ? null : { microUsdc: party.grossMicroUsdc, ...describe(party) }
}

function percentText(share: number): string {
  return `${Math.min(Math.round(share * 100), share < 1 ? 99 : 100)} %`
}

function roundedShare(share: number): number {
  return Math.round(share * 1e6) / 1e6
}
