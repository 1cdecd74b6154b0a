/** Contents of preview images. An unknown figure is a word, never a zero. */
import { counted, grouped } from './number-text.ts'
import type { Bar, Card, Tone } from './og-card.ts'
import { dayMs, parseTime } from './time.ts'

export interface CardRail {
  readonly rail: string
  readonly display_name: string
  readonly chain: string
  readonly category: string
  readonly status: string
  readonly tpv_30d_usdc: number
  readonly unique_workers_30d: number
  readonly top_worker_share: number
  readonly entry_cost_usdc: number
  readonly unknown_figures: readonly string[]
  readonly figures_source: 'poll' | 'audit'
  readonly figures_as_of: string
  readonly stale: boolean
}

export interface CardPoll {
  readonly polled_at: string
  readonly tpv_30d_usdc: number | null
}

interface CardStats {
  readonly tpv_30d_usdc: number
  readonly rails_total: number
  readonly rails_paying: number
  readonly rails_unknown_tpv: number
  readonly receipts_verified: number
  readonly open_flags: number
}

interface CardArticle {
  readonly title: string
  readonly date: string
  readonly excerpt: string
}

export function homeCard(stats: CardStats, rails: readonly CardRail[]): Card {
  const earning = rails.filter(({ category }) => category === 'earning')
  const isRead = stats.rails_unknown_tpv < earning.length
  return {
    kicker: 'Income channels for AI agents: what each really pays',
    title: `${stats.rails_paying} of ${counted(stats.rails_total, 'rail')} ${stats.rails_paying === 1 ? 'pays' : 'pay'} AI agents`,
    mark: null,
    figures: [
      { label: 'USDC in 30 days', value: isRead ? money(stats.tpv_30d_usdc) : unknown },
      { label: 'rails paying', value: whole(stats.rails_paying) },
      { label: 'verified receipts', value: countOf(stats.receipts_verified) },
      { label: 'open flags', value: whole(stats.open_flags) },
    ],
    drawing: bars(
      'USDC in 30 days, after each rail’s filter rule',
      earning.map((rail) => barOf(rail.display_name, known(rail, 'tpv_30d_usdc'), money)),
    ),
    note: newest(rails),
  }
}

export function railCard(rail: CardRail, polls: readonly CardPoll[]): Card {
  const volume = known(rail, 'tpv_30d_usdc')
  const workers = known(rail, 'unique_workers_30d')
  const share = known(rail, 'top_worker_share')
  const series = dailyVolume(polls)
  return {
    kicker: `Rail · ${rail.category} · ${rail.chain}`,
    title: rail.display_name,
    mark: { word: rail.status, tone: statusTones[rail.status] ?? 'plain' },
    figures: [
      { label: 'USDC in 30 days', value: volume === null ? unknown : money(volume) },
      { label: 'paid workers', value: workers === null ? unknown : countOf(workers) },
      {
        label: 'top worker',
        value: share === null ? unknown : `${(share * 100).toFixed(1)} %`,
      },
      { label: 'entry cost, USDC', value: money(rail.entry_cost_usdc) },
    ],
    drawing:
      series.filter((value) => value !== null).length < 2
        ? null
        : {
            kind: 'line',
            caption: `30-day volume on each of the last ${seriesDays} days; the scale starts at zero`,
            values: series,
          },
    note: `${rail.figures_source === 'audit' ? 'audit of' : rail.stale ? 'stale, of' : 'figures of'} ${rail.figures_as_of.slice(0, 10)}`,
  }
}

export function articleCard({ title, date, excerpt }: CardArticle): Card {
  return {
    kicker: 'The desk',
    title,
    mark: null,
    figures: [],
    drawing: { kind: 'text', text: excerpt },
    note: date,
  }
}

export function deskCard(articles: readonly CardArticle[]): Card {
  const [latest] = articles.toSorted((a, b) => (a.date < b.date ? 1 : -1))
  return {
    kicker: 'The desk',
    title: `${counted(articles.length, 'article')} on what rails pay`,
    mark: null,
    figures: [],
    drawing: latest === undefined ? null : { kind: 'text', text: `Newest: ${latest.title}` },
    note: latest?.date ?? '',
  }
}

export function opportunitiesCard(
  opportunities: readonly {
    readonly display_name: string
    readonly expected_usd_per_day: number | null
    readonly entry_cost_usdc: number
    readonly polled_at: string
  }[],
): Card {
  const polls = opportunities.map(({ polled_at }) => polled_at).sort()
  return {
    kicker: 'Where to earn',
    title: `${counted(opportunities.length, 'rail')} ${opportunities.length === 1 ? 'pays' : 'pay'} agents now`,
    mark: null,
    figures: [
      { label: 'rails paying', value: whole(opportunities.length) },
      {
        label: 'free to enter',
        value: whole(
          opportunities.filter(({ entry_cost_usdc: costUsdc }) => costUsdc === 0).length,
        ),
      },
    ],
    drawing: bars(
      'Expected USD per worker and day, excluding the top earner',
      opportunities.map((entry) => barOf(entry.display_name, entry.expected_usd_per_day, money)),
    ),
    note: dated('polled', polls.at(-1)),
  }
}

export function flagsCard(
  flags: readonly {
    readonly rail: string | null
    readonly severity: string
    readonly opened_at: string
  }[],
  rails: readonly CardRail[],
): Card {
  const of = (severity: string) => flags.filter((flag) => flag.severity === severity).length
  const opened = flags.map(({ opened_at }) => opened_at).sort()
  return {
    kicker: 'Honesty flags',
    title: `${counted(flags.length, 'open doubt')} about figures`,
    mark: null,
    figures: [
      { label: 'critical', value: whole(of('critical')) },
      { label: 'warning', value: whole(of('warning')) },
      { label: 'info', value: whole(of('info')) },
    ],
    drawing: bars(
      'Open flags by rail',
      rails.map(({ rail, display_name: name }) => {
        const count = flags.filter((flag) => flag.rail === rail).length
        return barOf(name, count === 0 ? null : count, whole)
      }),
    ),
    note: dated('last opened', opened.at(-1)),
  }
}

export function leaderboardCard(
  entries: readonly {
    readonly wallet: string
    readonly display_name: string | null
    readonly rep_score: number
    readonly receipts_count: number
    readonly total_usdc_lifetime: number
  }[],
  asOf: string,
): Card {
  const sum = (of: (entry: (typeof entries)[number]) => number) =>
    entries.reduce((total, entry) => total + of(entry), 0)
  return {
    kicker: 'Leaderboard',
    title: `${counted(entries.length, 'worker')} with receipts that count`,
    mark: null,
    figures: [
      { label: 'workers', value: whole(entries.length) },
      { label: 'receipts', value: countOf(sum(({ receipts_count: count }) => count)) },
      { label: 'USDC earned', value: money(sum(({ total_usdc_lifetime: usdc }) => usdc)) },
    ],
    drawing: bars(
      'Reputation score',
      entries.map((entry) =>
        barOf(entry.display_name ?? shortWallet(entry.wallet), entry.rep_score, money),
      ),
    ),
    note: dated('as of', asOf),
  }
}

export function pactsCard(pacts: {
  readonly summary: {
    readonly settled_count: number
    readonly in_flight_count: number
    readonly settled_usdc: number
    readonly last_settled_at: string | null
  }
  readonly settled: readonly {
    readonly pact_id: string
    readonly title?: string | undefined
    readonly amount_usdc: number
  }[]
}): Card {
  const { summary, settled } = pacts
  return {
    kicker: 'Pacts: settlements that can be verified on-chain',
    title: `${counted(summary.settled_count, 'settled pact')}, ${whole(summary.in_flight_count)} in flight`,
    mark: null,
    figures: [
      { label: 'settled', value: whole(summary.settled_count) },
      { label: 'in flight', value: whole(summary.in_flight_count) },
      { label: 'USDC settled', value: money(summary.settled_usdc) },
    ],
    drawing: bars(
      'USDC of settled pacts',
      settled.map(({ pact_id: id, title, amount_usdc: usdc }) =>
        barOf(title ?? `Pact ${id}`, usdc, money),
      ),
    ),
    note: dated('last settled', summary.last_settled_at),
  }
}

const unknown = 'unknown'

const statusTones: Readonly<Record<string, Tone>> = {
  paying: 'good',
  concentrated: 'care',
  'pre-traction': 'care',
  potemkin: 'bad',
  dormant: 'plain',
}

function known(
  rail: CardRail,
  name: 'tpv_30d_usdc' | 'unique_workers_30d' | 'top_worker_share',
): number | null {
  return rail.unknown_figures.includes(name) ? null : rail[name]
}

function barOf(name: string, value: number | null, format: (value: number) => string): Bar | null {
  return value === null ? null : { name, value, text: format(value) }
}

function bars(caption: string, all: readonly (Bar | null)[]): Card['drawing'] {
  const found = all
    .filter((bar) => bar !== null)
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value)
    .slice(0, 5)
  return found.length === 0 ? null : { kind: 'bars', caption, bars: found }
}

const seriesDays = 30

/** The last known value of each of the last thirty days, oldest first. */
function dailyVolume(polls: readonly CardPoll[]): (number | null)[] {
  const days = polls.map(({ polled_at: at }) => Math.floor((parseTime(at) ?? 0) / dayMs))
  const last = days.reduce((a, b) => Math.max(a, b), 0)
  const byDay = new Map<number, number>()
  for (const [at, { tpv_30d_usdc: value }] of polls.entries()) {
    const day = days[at] ?? 0
    if (value !== null && !byDay.has(day)) byDay.set(day, value)
  }
  return Array.from(
    { length: seriesDays },
    (_, at) => byDay.get(last - seriesDays + 1 + at) ?? null,
  )
}

function newest(rails: readonly CardRail[]): string {
  const polled = rails.filter(({ figures_source: source }) => source === 'poll')
  const times = (polled.length === 0 ? rails : polled).map(({ figures_as_of: at }) => at).sort()
  return dated(polled.length === 0 ? 'audit of' : 'polled', times.at(-1))
}

/** Without the time of day, so that a card changes only with its figures. */
function dated(what: string, time: string | null | undefined): string {
  return time === null || time === undefined ? '' : `${what} ${time.slice(0, 10)}`
}

const sizes = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const

/** `< 0.01`, `12.50`, `3,450`, `1.23M`. */
function money(amountUsdc: number): string {
  const size = sizes.find(([limit]) => limit >= 1e6 && amountUsdc >= limit)
  if (size !== undefined) return `${Number((amountUsdc / size[0]).toPrecision(3))}${size[1]}`
  if (amountUsdc >= 1000) return whole(Math.round(amountUsdc))
  if (amountUsdc === 0) return '0'
  return amountUsdc < 0.01 ? '< 0.01' : amountUsdc.toFixed(2)
}

function whole(value: number): string {
  return grouped(String(value))
}

/** `9,999`, `12.3k`, `1.23M`: truncated to three digits, so that a card rarely changes. */
function countOf(value: number): string {
  const size = value < 10_000 ? undefined : sizes.find(([limit]) => value >= limit)
  if (size === undefined) return whole(value)
  const lastDigit = 10 ** (String(value).length - 3)
  return `${(value - (value % lastDigit)) / size[0]}${size[1]}`
}

function shortWallet(wallet: string): string {
  return wallet.length > 14 ? `${wallet.slice(0, 8)}…${wallet.slice(-4)}` : wallet
}
