/** Contents of preview images. An unknown figure is shown as a word, never as zero. */
import type { Article } from '../contract/schemas/desk.ts'
import type { Flag } from '../contract/schemas/flag.ts'
import type { OpportunityList } from '../contract/schemas/opportunity.ts'
import type { PactList } from '../contract/schemas/pact.ts'
import type { Rail, RailPoll } from '../contract/schemas/rail.ts'
import type { Stats } from '../contract/schemas/stats.ts'
import type { LeaderboardEntry } from '../contract/schemas/worker.ts'
import type { FigureName } from '../core/figures.ts'
import { knownFigure } from '../core/figures.ts'
import { counted, grouped, shortNumber, unitOf } from '../core/number-text.ts'
import { joinedRuns, longestBridge, newestOfEachDay, rhythmOf, runFrom } from '../core/readings.ts'
import { parseTime } from '../core/time.ts'
import { notJudgedWord } from './figures.ts'
import type { Bar, Card, Tone } from './og-card.ts'
import { isAudited } from './rail-parts.ts'

type CardPoll = Pick<RailPoll, 'outcome' | 'polled_at' | 'tpv_30d_usdc'>
type CardStats = Omit<Stats, 'computed_at'>
type PayingStats = Pick<Stats, 'rails_judged' | 'rails_paying' | 'unknown_figures'>
type CardArticle = Pick<Article, 'title' | 'date' | 'excerpt'>

/** A headline without a zero while no reading has shown which rails pay. */
export function payingText(
  { rails_paying: paying, rails_judged: judged, unknown_figures: unknown }: PayingStats,
  rails: readonly Pick<Rail, 'figures_source'>[],
): string {
  if (!unknown.includes('rails_paying')) {
    return `${paying} of ${counted(judged, 'judged rail')} ${paying === 1 ? 'pays' : 'pay'} AI agents`
  }
  if (paying > 0) {
    return `${counted(paying, 'rail')} ${paying === 1 ? 'was' : 'were'} paying when others last counted`
  }
  return `No rail has been ${rails.every(isAudited) ? 'read' : 'judged'} yet`
}

export function homeCard(stats: CardStats, rails: readonly Rail[]): Card {
  const summed = rails.filter(
    ({ category, figures_source: source, stale }) =>
      category === 'earning' && source === 'poll' && !stale,
  )
  const isUnknown = (name: (typeof stats.unknown_figures)[number]) =>
    stats.unknown_figures.includes(name)
  return {
    kicker: 'Income channels for AI agents: what each really pays',
    title: payingText(stats, rails),
    figures: [
      ['filtered USDC, 30 days', isUnknown('tpv_30d_usdc') ? unknown : money(stats.tpv_30d_usdc)],
      ['rails paying', isUnknown('rails_paying') ? unknown : whole(stats.rails_paying)],
      ['verified receipts', countOf(stats.receipts_verified)],
      ['open flags', whole(stats.open_flags)],
    ],
    drawing: bars('USDC in 30 days, after each rail’s filter rule', summed, {
      name: (rail) => rail.display_name,
      value: (rail) => knownFigure(rail, 'tpv_30d_usdc'),
    }),
    note: dated('oldest figure of', summed.map(({ figures_as_of: at }) => at).sort()[0]),
  }
}

export function railCard(rail: Rail, polls: readonly CardPoll[]): Card {
  const figure = (name: FigureName, show: (value: number) => string) => {
    const value = knownFigure(rail, name)
    return value === null ? unknown : show(value)
  }
  const runs = volumeRuns(polls)
  const caption = `30-day volume on each of the last ${seriesDays} days; the scale starts at zero`
  return {
    kicker: `Rail · ${rail.category} · ${rail.chain}`,
    title: rail.display_name,
    mark: statusMark(rail),
    figures: [
      ['filtered USDC, 30 days', figure('tpv_30d_usdc', money)],
      [
        rail.status_basis === 'payments' ? 'paid workers' : 'listings',
        figure('unique_workers_30d', countOf),
      ],
      ['top worker', figure('top_worker_share', (share) => `${(share * 100).toFixed(1)} %`)],
      ['entry cost, USDC', money(rail.entry_cost_usdc)],
    ],
    drawing: runs.flat().length < 2 ? null : { kind: 'line', caption, runs },
    note: `${rail.figures_source === 'audit' ? 'audit of' : rail.stale ? 'stale, of' : 'figures of'} ${rail.figures_as_of.slice(0, 10)}`,
  }
}

function statusMark({ judged, status, figures_source: source, figures_as_of: asOf }: Rail) {
  if (!judged) return { word: notJudgedWord, tone: 'plain' } as const
  const word = source === 'audit' ? `${status} on ${asOf.slice(0, 10)}` : status
  return { word, tone: statusTones[status] }
}

export function articleCard({ title, date, excerpt }: CardArticle): Card {
  const drawing = { kind: 'text', text: excerpt } as const
  return { kicker: 'The desk', title, figures: [], drawing, note: date }
}

export function deskCard(articles: readonly CardArticle[]): Card {
  const [latest] = articles.toSorted((a, b) => (a.date < b.date ? 1 : -1))
  return {
    kicker: 'The desk',
    title: `${counted(articles.length, 'article')} on what rails pay`,
    figures: [],
    drawing: latest === undefined ? null : { kind: 'text', text: `Newest: ${latest.title}` },
    note: latest?.date ?? '',
  }
}

export function opportunitiesCard(
  list: Omit<OpportunityList, 'computed_at'>,
  rails: readonly Rail[],
): Card {
  const { unknown_figures: unknowns } = list
  const audited = new Set(rails.filter(isAudited).map(({ rail }) => rail))
  const opportunities = list.opportunities.filter(({ rail }) => !audited.has(rail))
  const isUnknown = unknowns.includes('count')
  const free = opportunities.filter(({ entry_cost_usdc: costUsdc }) => costUsdc === 0)
  const polls = opportunities.map(({ polled_at: at }) => at).sort()
  return {
    kicker: 'Where to earn',
    title: isUnknown
      ? 'No reading has shown yet which rails pay'
      : `${counted(opportunities.length, 'rail')} ${opportunities.length === 1 ? 'pays' : 'pay'} agents now`,
    figures: [
      ['rails paying', isUnknown ? unknown : whole(opportunities.length)],
      ['free to enter', isUnknown ? unknown : whole(free.length)],
    ],
    drawing: bars('Expected USD per worker and day, excluding the top earner', opportunities, {
      name: (entry) => entry.display_name,
      value: (entry) => entry.expected_usd_per_day,
    }),
    note: dated('polled', polls.at(-1)),
  }
}

export function flagsCard(flags: readonly Flag[], rails: readonly Rail[]): Card {
  const opened = flags.map(({ opened_at: at }) => at).sort()
  return {
    kicker: 'Honesty flags',
    title: `${counted(flags.length, 'open doubt')} about figures`,
    figures: (['critical', 'warning', 'info'] as const).map((severity) => {
      return [severity, whole(flags.filter((flag) => flag.severity === severity).length)]
    }),
    drawing: bars('Open flags by rail', rails, {
      name: (rail) => rail.display_name,
      value: ({ rail }) => flags.filter((flag) => flag.rail === rail).length,
      show: whole,
    }),
    note: dated('last opened', opened.at(-1)),
  }
}

export function leaderboardCard(entries: readonly LeaderboardEntry[], asOf: string): Card {
  const sum = (of: (entry: LeaderboardEntry) => number) =>
    entries.reduce((total, entry) => total + of(entry), 0)
  return {
    kicker: 'Leaderboard',
    title: `${counted(entries.length, 'worker')} with receipts that count`,
    figures: [
      ['workers', whole(entries.length)],
      ['receipts', countOf(sum((entry) => entry.receipts_count))],
      ['USDC earned', money(sum((entry) => entry.total_usdc_lifetime))],
    ],
    drawing: bars('Reputation score', entries, {
      name: (entry) => entry.display_name ?? shortWallet(entry.wallet),
      value: (entry) => entry.rep_score,
    }),
    note: dated('as of', asOf),
  }
}

export function pactsCard({ summary, settled }: PactList): Card {
  return {
    kicker: 'Pacts: settlements that can be verified on-chain',
    title: `${counted(summary.settled_count, 'settled pact')}, ${whole(summary.in_flight_count)} in flight`,
    figures: [
      ['settled', whole(summary.settled_count)],
      ['in flight', whole(summary.in_flight_count)],
      ['USDC settled', money(summary.settled_usdc)],
    ],
    drawing: bars('USDC of settled pacts', settled, {
      name: ({ pact_id: id, title }) => title ?? `Pact ${id}`,
      value: (pact) => pact.amount_usdc,
    }),
    note: dated('last settled', summary.last_settled_at),
  }
}

const unknown = 'unknown'

export const statusTones: Readonly<Record<Rail['status'], Tone>> = {
  paying: 'good',
  concentrated: 'care',
  'pre-traction': 'care',
  potemkin: 'bad',
  dormant: 'plain',
}

/** The five largest positive values. */
function bars<Entry>(
  caption: string,
  entries: readonly Entry[],
  of: {
    readonly name: (entry: Entry) => string
    readonly value: (entry: Entry) => number | null
    /** Formats a value; the default is an amount in USDC. */
    readonly show?: (value: number) => string
  },
): Card['drawing'] {
  const shown = entries
    .map((entry): Bar => {
      const value = of.value(entry) ?? 0
      return { name: of.name(entry), value, text: (of.show ?? money)(value) }
    })
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value)
    .slice(0, 5)
  return shown.length === 0 ? null : { kind: 'bars', caption, bars: shown }
}

const seriesDays = 30

/** The volume on each of the last thirty days, oldest first. `polls` are newest first. */
function volumeRuns(polls: readonly CardPoll[]) {
  const readings = newestOfEachDay(
    polls.filter(({ outcome }) => outcome === 'ok'),
    ({ polled_at: at }) => parseTime(at) ?? 0,
  ).map(([day, { tpv_30d_usdc: value }]) => ({ day, value }))
  const to = readings.at(-1)?.day ?? 0
  const from = to - seriesDays + 1
  const bridge = longestBridge(rhythmOf(readings.map(({ day }) => day)))
  return joinedRuns(readings, bridge)
    .map((run) => runFrom(run, from))
    .filter((run) => run.length > 0)
    .map((run) => run.map(({ day, value }) => ({ part: (day - from) / (seriesDays - 1), value })))
}

/** Omits the time of day, so that a card changes only with its figures. */
function dated(what: string, time: string | null | undefined): string {
  return time === null || time === undefined ? '' : `${what} ${time.slice(0, 10)}`
}

/** `< 0.01`, `12.50`, `3,450`, `1.23M`. */
function money(amountUsdc: number): string {
  if (amountUsdc >= 1e6) return shortNumber(amountUsdc)
  if (amountUsdc >= 1000) return whole(Math.round(amountUsdc))
  if (amountUsdc === 0) return '0'
  return amountUsdc < 0.01 ? '< 0.01' : amountUsdc.toFixed(2)
}

function whole(value: number): string {
  return grouped(String(value))
}

/** `9,999`, `12.3k`, `1.23M`: truncated to three digits, so that a card rarely changes. */
function countOf(value: number): string {
  if (value < 10_000) return whole(value)
  const [size, suffix] = unitOf(value)
  const lastDigit = 10 ** (String(value).length - 3)
  return `${(value - (value % lastDigit)) / size}${suffix}`
}

function shortWallet(wallet: string): string {
  return wallet.length > 14 ? `${wallet.slice(0, 8)}…${wallet.slice(-4)}` : wallet
}
