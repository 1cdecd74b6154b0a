import { canonicalize, isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../../src/core/canonical-json.ts'
import { list, member, text } from './facts.ts'
import type { Facts } from './facts.ts'

export interface FigureChange {
  readonly name: ComparedFigure
  readonly from: number | null
  readonly to: number | null
}

export type Change =
  | { readonly kind: 'rail added' | 'rail removed'; readonly rail: string }
  | {
      readonly kind: 'status'
      readonly rail: string
      readonly from: string
      readonly to: string
    }
  | { readonly kind: 'poll failed'; readonly rail: string; readonly error: string }
  | { readonly kind: 'poll recovered'; readonly rail: string }
  | {
      readonly kind: 'rail'
      readonly rail: string
      readonly figures: readonly FigureChange[]
      readonly fields: readonly string[]
    }
  | {
      readonly kind: 'flag opened' | 'flag closed'
      readonly id: string
      readonly rail: string | null
      readonly flag: string
      readonly title: string
    }
  | { readonly kind: 'pact opened' | 'pact settled'; readonly pact: string; readonly title: string }
  | { readonly kind: 'receipt accepted' | 'receipt verified'; readonly receipt: string }
  | { readonly kind: 'article published'; readonly title: string }
  | {
      readonly kind: 'document added' | 'document changed' | 'document removed'
      readonly path: string
    }

export const FIGURES = {
  tpv_30d_usdc: { label: 'volume, 30 days', unit: 'USDC' },
  tpv_7d_usdc: { label: 'volume, 7 days', unit: 'USDC' },
  tpv_30d_raw_usdc: { label: 'raw volume, 30 days', unit: 'USDC' },
  tpv_7d_raw_usdc: { label: 'raw volume, 7 days', unit: 'USDC' },
  unique_creators_30d: { label: 'creators, 30 days', unit: '' },
  unique_workers_30d: { label: 'workers, 30 days', unit: '' },
  top_worker_share: { label: 'share of the top worker', unit: '%' },
  entry_cost_usdc: { label: 'entry cost', unit: 'USDC' },
} as const satisfies Record<string, { label: string; unit: 'USDC' | '%' | '' }>
export type ComparedFigure = keyof typeof FIGURES
const FIGURE_NAMES = Object.keys(FIGURES).filter((name): name is ComparedFigure => name in FIGURES)

const API = '/api/v1'
const RAIL_PATH = /^\/api\/v1\/rails\/[^/]+$/

/** Orders changes: rails by slug, flags by id, pacts, receipts, articles, other documents by path. */
export function changesBetween(before: Facts, after: Facts): Change[] {
  return [
    ...railChanges(railsOf(before), railsOf(after)),
    ...flagChanges(before, after),
    ...pactChanges(before, after),
    ...receiptChanges(before, after),
    ...articleChanges(before, after),
    ...documentChanges(before, after),
  ]
}

type Entries = ReadonlyMap<string, JsonObject>

function railsOf(facts: Facts): Entries {
  const listed = byKey(list(member(facts[`${API}/rails`], 'rails')), 'rail')
  const single = Object.entries(facts)
    .filter(([path]) => RAIL_PATH.test(path))
    .map(([, rail]) => rail)
  return new Map([...listed, ...byKey(single, 'rail')])
}

function byKey(entries: readonly JsonValue[], key: string): Entries {
  const found = new Map<string, JsonObject>()
  for (const entry of entries) {
    const name = text(member(entry, key))
    if (isJsonObject(entry) && name !== null) found.set(name, entry)
  }
  return found
}

function railChanges(before: Entries, after: Entries): Change[] {
  const slugs = [...new Set([...before.keys(), ...after.keys()])].sort()
  return slugs.flatMap((rail): Change[] => {
    const old = before.get(rail)
    const now = after.get(rail)
    if (now === undefined) return [{ kind: 'rail removed', rail }]
    if (old === undefined) return [{ kind: 'rail added', rail }, ...pollChange(rail, null, now)]
    return [
      ...statusChange(rail, old, now),
      ...pollChange(rail, old, now),
      ...fieldChange(rail, old, now),
    ]
  })
}

function statusChange(rail: string, old: JsonObject, now: JsonObject): Change[] {
  const from = text(old['status'])
  const to = text(now['status'])
  return from === null || to === null || from === to ? [] : [{ kind: 'status', rail, from, to }]
}

function pollChange(rail: string, old: JsonObject | null, now: JsonObject): Change[] {
  const before = text(old?.['poll_error'])
  const error = text(now['poll_error'])
  if (error !== null) return error === before ? [] : [{ kind: 'poll failed', rail, error }]
  return before === null ? [] : [{ kind: 'poll recovered', rail }]
}

/** Fields with their own kinds of change. */
const SEPARATE_FIELDS = new Set([
  'status',
  'status_since',
  'poll_error',
  'unknown_figures',
  ...FIGURE_NAMES,
])

function fieldChange(rail: string, old: JsonObject, now: JsonObject): Change[] {
  const figures = FIGURE_NAMES.map((name) => ({
    name,
    from: figureOf(old, name),
    to: figureOf(now, name),
  })).filter(({ from, to }) => from !== to)
  const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => !SEPARATE_FIELDS.has(name) && !same(old[name], now[name]))
    .sort()
  return figures.length + fields.length === 0 ? [] : [{ kind: 'rail', rail, figures, fields }]
}

function figureOf(rail: JsonObject, name: ComparedFigure): number | null {
  const value = rail[name]
  if (typeof value !== 'number') return null
  return list(rail['unknown_figures']).includes(name) ? null : value
}

function flagChanges(before: Facts, after: Facts): Change[] {
  const path = `${API}/honesty/flags`
  const old = byKey(list(member(before[path], 'flags')), 'id')
  const now = byKey(list(member(after[path], 'flags')), 'id')
  const isOpen = (flag: JsonObject | undefined) =>
    flag !== undefined && text(flag['closed_at']) === null
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((id): Change[] => {
    const flag = now.get(id) ?? old.get(id)
    if (flag === undefined || isOpen(old.get(id)) === isOpen(now.get(id))) return []
    return [
      {
        kind: isOpen(now.get(id)) ? 'flag opened' : 'flag closed',
        id,
        rail: text(flag['rail']),
        flag: text(flag['kind']) ?? 'flag',
        title: text(flag['title']) ?? id,
      },
    ]
  })
}

function pactChanges(before: Facts, after: Facts): Change[] {
  const pacts = (facts: Facts, group: string) =>
    byKey(list(member(facts[`${API}/pacts`], group)), 'pact_id')
  const fresh = (group: string, kind: 'pact opened' | 'pact settled') =>
    [...pacts(after, group)]
      .filter(([id]) => !pacts(before, group).has(id))
      .map(([pact, { title }]): Change => ({ kind, pact, title: text(title) ?? '' }))
  return [...fresh('settled', 'pact settled'), ...fresh('in_flight', 'pact opened')]
}

function receiptChanges(before: Facts, after: Facts): Change[] {
  const receipts = (facts: Facts) =>
    byKey(list(member(facts[`${API}/receipts`], 'receipts')), 'receipt_id')
  const old = receipts(before)
  const isVerified = (receipt: JsonObject | undefined) => receipt?.['onchain_verified'] === true
  return [...receipts(after)].flatMap(([receipt, now]): Change[] => [
    ...(old.has(receipt) ? [] : [{ kind: 'receipt accepted' as const, receipt }]),
    ...(isVerified(now) && !isVerified(old.get(receipt))
      ? [{ kind: 'receipt verified' as const, receipt }]
      : []),
  ])
}

function articleChanges(before: Facts, after: Facts): Change[] {
  const articles = (facts: Facts) =>
    byKey(list(member(facts['/desk/feed.json'], 'articles')), 'slug')
  const old = articles(before)
  return [...articles(after)]
    .filter(([slug]) => !old.has(slug))
    .map(([slug, { title }]) => ({ kind: 'article published', title: text(title) ?? slug }))
}

function documentChanges(before: Facts, after: Facts): Change[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return paths.flatMap((path): Change[] => {
    const [old, now] = [before[path], after[path]]
    if (old === undefined) return [{ kind: 'document added', path }]
    if (now === undefined) return [{ kind: 'document removed', path }]
    return same(old, now) ? [] : [{ kind: 'document changed', path }]
  })
}

function same(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true
  if (left === undefined || right === undefined) return false
  return canonicalize(left) === canonicalize(right)
}
