/** The invented rails. Numbers of days are counted back from the time when the demo is created. */
import type { z } from 'zod'

import { auditedFigures } from '../../builder/world/authored-rails.ts'
import type { AuthoredRail } from '../../builder/world/authored-rails.ts'
import type { railCategory, railChain } from '../../src/contract/schemas/rail.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { decideStatus } from '../../src/core/rules/status.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'

/** What happens on a rail or at its source for some days. */
type ActKind =
  /** Nothing is paid. */
  | 'quiet'
  /** Three customers, or one. */
  | 'few'
  | 'alone'
  /** One worker earns nearly everything, or one customer pays it. */
  | 'star'
  | 'patron'
  /** Wallets pay themselves, test wallets are paid, or payments come back. */
  | 'selfpay'
  | 'tests'
  | 'refunds'
  /** Equal payments to 30 workers in an hour, all payments within two hours, or equal ones at equal hours. */
  | 'payroll'
  | 'burst'
  | 'clockwork'
  /** One payment of half a year's volume, or one day of tenfold figures. */
  | 'jackpot'
  | 'jump'
  /** One wallet funds the customers, or collects from the workers. */
  | 'funder'
  | 'collector'
  /** The source fails, states less than it kept, or dates payouts in the future. */
  | 'down'
  | 'wrong'
  | 'future'
  /** The rail is read for the first time, and its node refuses to go on. */
  | 'busy'

/** From one day to another, both included; without an end it lasts. */
type Act = readonly [kind: ActKind, fromDay: number, toDay?: number]

interface Trade {
  /** A day, on average. */
  readonly payments: number
  readonly usdc: number
  readonly payers: number
  readonly workers: number
}

export interface DemoRail {
  readonly rail: string
  readonly name: string
  readonly chain: z.infer<typeof railChain>
  readonly category: z.infer<typeof railCategory>
  /** Null for rails that are audited and not polled. */
  readonly trade: Trade | null
  readonly acts: readonly Act[]
  readonly audit: Audit
}

/** Last day of the audit, the figures of 30 days, and claims of others. */
interface Audit {
  readonly day: number
  readonly reason: string
  readonly figures?: Readonly<Partial<Record<keyof typeof figureNames, number>>>
  readonly claims?: readonly (readonly [
    kind: 'operator' | 'lower_bound' | 'lifetime' | 'estimate' | 'offer',
    figure: string,
    value: number,
    unit: string,
  ])[]
}

const before = { day: 130, reason: 'Invented: nothing had been counted when the rail was listed.' }

const polled = (
  rail: string,
  chain: DemoRail['chain'],
  [payments, usdc, payers, workers]: readonly [number, number, number, number],
  ...acts: readonly Act[]
): DemoRail => ({
  rail,
  name: nameOf(rail),
  chain,
  category: 'earning',
  trade: { payments, usdc, payers, workers },
  acts,
  audit: before,
})

const audited = (
  rail: string,
  chain: DemoRail['chain'],
  audit: Audit,
  category: DemoRail['category'] = 'earning',
): DemoRail => ({ rail, name: nameOf(rail), chain, category, trade: null, acts: [], audit })

function nameOf(rail: string): string {
  return rail.replaceAll(/(?:^|_)./g, (start) => start.replace('_', ' ').toUpperCase())
}

const counted = 'Invented: an index of settlements was recounted without payments to oneself.'
const silent = 'Invented: the site lists offers, and nobody has counted payouts.'

export const demoRails: readonly DemoRail[] = [
  polled('tallowgate', 'base', [11, 31, 26, 30], ['payroll', 125, 97]),
  polled('mossferry_market', 'base', [10, 24, 18, 22], ['selfpay', 95, 78]),
  polled('candlewharf', 'gnosis', [6, 40, 14, 40], ['tests', 125, 100], ['payroll', 60]),
  polled('larkspindle', 'arbitrum', [9, 12, 16, 20], ['clockwork', 125, 97], ['tests', 40]),
  polled('hollowquay', 'ethereum', [3, 40, 12, 9], ['star', 125, 92], ['jackpot', 14, 14]),
  polled('thimblecroft', 'polygon', [8, 3, 8, 15], ['clockwork', 400]),
  polled('rookpasture', 'base', [8, 18, 14, 10], ['funder', 125, 46], ['collector', 45]),
  polled('moorlantern', 'base', [7, 22, 14, 10], ['refunds', 120, 80]),
  polled('juniperlatch', 'base', [7, 16, 12, 14], ['few', 400, 4]),
  polled('sorrelworks', 'gnosis', [9, 9, 15, 12], ['few', 400, 65], ['patron', 40]),
  polled('pennywhelk', 'off-chain', [14, 55, 30, 28], ['down', 63, 60], ['future', 30, 28]),
  polled('copperdill', 'off-chain', [9, 13, 20, 24], ['jump', 0, 0], ['jump', 52, 52]),
  polled('wickerloom', 'off-chain', [10, 33, 17, 21], ['wrong', 75, 75], ['future', 2]),
  polled('saltlathe', 'off-chain', [8, 70, 15, 18], ['down', 0, 0]),
  polled('hazelbarge', 'solana', [9, 6, 14, 17], ['down', 6]),
  polled('tansydock', 'base', [8, 45, 12, 8], ['star', 50], ['patron', 125, 90]),
  polled('bramblecourt', 'off-chain', [6, 80, 11, 7], ['star', 400], ['wrong', 0, 0]),
  polled('plumbfeather', 'off-chain', [4, 25, 6, 9], ['alone', 400]),
  polled(
    'oatfathom',
    'base',
    [5, 20, 7, 8],
    ['funder', 400],
    ['refunds', 400],
    ['collector', 125, 85],
  ),
  polled('yarrowkiln', 'gnosis', [3, 12, 9, 8], ['few', 400], ['burst', 125, 80], ['selfpay', 30]),
  polled('duskpantry', 'arbitrum', [2, 15, 12, 12], ['burst', 400]),
  polled('kestrelpond', 'off-chain', [2, 18, 9, 6], ['few', 400]),
  polled('marlbucket', 'ethereum', [2, 0.3, 7, 6], ['jackpot', 90, 90]),
  { ...polled('nettlehythe', 'off-chain', [12, 0, 30, 40]), category: 'discovery' },
  polled('pebblecask', 'gnosis', [5, 14, 12, 10], ['quiet', 76]),
  polled('sedgewicket', 'off-chain', [1, 5, 4, 4], ['quiet', 400]),
  polled('barleychime', 'off-chain', [1, 5, 4, 4], ['quiet', 400]),
  polled('flintmitten', 'off-chain', [3, 30, 9, 8], ['quiet', 100]),
  polled('inkbarrow', 'celo', [6, 8, 12, 12], ['busy', 400]),
  audited('quincetower', 'base', {
    day: 21,
    reason: counted,
    figures: { tpv: 18_240.5, creators: 41, workers: 63, share: 0.21, payouts: 902 },
    claims: [['operator', 'Paid since launch', 412_000, 'USDC']],
  }),
  audited('teaselyard', 'off-chain', {
    day: 97,
    reason: counted,
    figures: { tpv: 2310, creators: 12, workers: 17, share: 0.34 },
  }),
  audited('umberlock', 'polygon', {
    day: 33,
    reason: counted,
    figures: { tpv: 960, creators: 3, workers: 11, share: 0.5 },
  }),
  audited('vetchhall', 'base', {
    day: 128,
    reason: counted,
    figures: { tpv: 5400, creators: 19, workers: 22, share: 0.4 },
    claims: [['lower_bound', 'Payments of one week', 310, 'payments']],
  }),
  audited('willowtoll', 'off-chain', {
    day: 155,
    reason: counted,
    figures: { tpv: 0, payouts: 0 },
  }),
  audited('russetbell', 'off-chain', { day: 26, reason: counted, figures: { tpv: 0, payouts: 0 } }),
  audited('fennelstile', 'near', {
    day: 60,
    reason: silent,
    claims: [
      ['lifetime', 'Tasks completed since launch', 1840, 'tasks'],
      ['offer', 'Open offers', 96, 'offers'],
    ],
  }),
  audited('cloverspan', 'cardano', {
    day: 84,
    reason: silent,
    claims: [['estimate', 'Monthly payouts', 7500, 'USDC']],
  }),
  audited('gorsebridge_board', 'off-chain', { day: 12, reason: silent }),
  audited('otterquill', 'off-chain', { day: 12, reason: silent }, 'trust'),
  audited('yewparcel', 'tempo', { day: 140, reason: silent }, 'discovery'),
]

/** The rail of the receipts that settle pacts; its page is the target of their flags. */
export const pactRail = audited('pact', 'arbitrum', { day: 12, reason: silent })

export function activeActs({ acts }: DemoRail, day: number): ReadonlySet<ActKind> {
  return new Set(acts.flatMap(([kind, from, to = 0]) => (day <= from && day >= to ? [kind] : [])))
}

const figureNames = {
  tpv: 'tpv_30d_usdc',
  creators: 'unique_creators_30d',
  workers: 'unique_workers_30d',
  share: 'top_worker_share',
  payouts: 'payouts_30d',
} as const

/** The file of a rail. The status of an audit is what the rules say of its figures. */
export function authoredRail(demo: DemoRail, nowMs: number): AuthoredRail {
  const { rail, name, trade, audit } = demo
  const dateOf = (day: number) => isoDate(nowMs - day * dayMs)
  const source = `https://reports.example/${rail}`
  const counted = { counted_by: 'Reports Example', method: 'Invented for a demo.' }
  const to = dateOf(audit.day)
  const from = dateOf(audit.day + 29)
  const counts = entriesOf(audit.figures ?? {}).flatMap(([figure, value]) =>
    value === undefined
      ? []
      : [[figureNames[figure], { value, from, to, source, ...counted }] as const],
  )
  const claims = (audit.claims ?? []).map(([kind, figure, value, unit]) => ({
    kind,
    figure,
    value,
    unit,
    from: null,
    to,
    source,
    counted_by: kind === 'operator' ? name : 'An invented report',
    method: 'Invented for this demo.',
    covers: 'mixed' as const,
    confidence: 'medium' as const,
  }))
  const authored: AuthoredRail = {
    rail,
    display_name: name,
    chain: demo.chain,
    category: demo.category,
    evidence_tier: trade === null ? 'C' : 'A',
    entry_cost_usdc: name.length % 3,
    entry_requirements: ['A wallet'],
    sample_apply_url: `https://${hostOf(rail)}/apply`,
    reference_url: `https://${hostOf(rail)}`,
    methodology: `${name} is invented for this demo, and so are its payments: none of them was made. ${
      trade === null
        ? 'The rail is audited by hand: its figures are those of an invented report.'
        : 'Its source is invented too; the code that reads real rails reads, filters and judges it.'
    }`,
    status_basis: trade?.usdc === 0 ? 'activity' : 'payments',
    audit: {
      as_of: to,
      status: 'pre-traction',
      reason: audit.reason,
      source,
      figures: Object.fromEntries(counts),
      ...(claims.length === 0 ? {} : { claims }),
    },
    sources: [source],
  }
  const judged = { figures: auditedFigures(authored), measures: null }
  const { status } = decideStatus(judged, authored.status_basis)
  return status === null ? authored : { ...authored, audit: { ...authored.audit, status } }
}

/** The top-level domain `example` is reserved, so that no site can have this name. */
export function hostOf(rail: string): string {
  return `${rail.replaceAll('_', '-')}.example`
}
