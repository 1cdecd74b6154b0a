/** Finds and describes changes of the archived facts, without times. */
import { canonicalize, isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../../src/core/canonical-json.ts'
import { code, escapeMarkdown, oneLine } from './change-text.ts'
import type { Change, ChangeKind } from './change-text.ts'
import { list, member, text } from './facts.ts'
import type { Facts } from './facts.ts'

const FIGURES = {
  tpv_30d_usdc: { label: 'volume, 30 days', unit: 'USDC' },
  tpv_7d_usdc: { label: 'volume, 7 days', unit: 'USDC' },
  tpv_30d_raw_usdc: { label: 'raw volume, 30 days', unit: 'USDC' },
  tpv_7d_raw_usdc: { label: 'raw volume, 7 days', unit: 'USDC' },
  unique_creators_30d: { label: 'creators, 30 days', unit: '' },
  unique_workers_30d: { label: 'workers, 30 days', unit: '' },
  top_worker_share: { label: 'share of the top worker', unit: '%' },
  entry_cost_usdc: { label: 'entry cost', unit: 'USDC' },
} as const satisfies Record<string, { label: string; unit: 'USDC' | '%' | '' }>

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
  const single = Object.entries(facts).filter(([path]) => RAIL_PATH.test(path))
  return new Map([
    ...entriesIn(facts, `${API}/rails`, 'rails', 'rail'),
    ...byKey(
      single.map(([, rail]) => rail),
      'rail',
    ),
  ])
}

/** The entries of the list `name` in a document by their member `key`. */
function entriesIn(facts: Facts, path: string, name: string, key: string): Entries {
  return byKey(list(member(facts[path], name)), key)
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
    if (now === undefined) return [railChange(rail, 'rail removed', 'is no longer listed.')]
    if (old === undefined) {
      return [railChange(rail, 'rail added', 'is listed now.'), ...pollChange(rail, null, now)]
    }
    return [
      ...statusChange(rail, old, now),
      ...pollChange(rail, old, now),
      ...fieldChange(rail, old, now),
    ]
  })
}

function railChange(rail: string, kind: ChangeKind, sentence: string): Change {
  return { kind, item: `${code(rail)} ${sentence}` }
}

function statusChange(rail: string, old: JsonObject, now: JsonObject): Change[] {
  const from = text(old['status'])
  const to = text(now['status'])
  if (from === null || to === null || from === to) return []
  const item = `${code(rail)} went from **${from}** to **${to}**.`
  return [{ kind: 'status', item, transition: `${oneLine(rail)} ${from} → ${to}` }]
}

function pollChange(rail: string, old: JsonObject | null, now: JsonObject): Change[] {
  const before = text(old?.['poll_error'])
  const error = text(now['poll_error'])
  if (error === before) return []
  if (error === null) return [railChange(rail, 'poll recovered', 'could be polled again.')]
  const item = `${code(rail)} could not be polled: ${escapeMarkdown(error)}`
  return [{ kind: 'poll failed', item }]
}

/** Fields with their own kinds of change. */
const SEPARATE_FIELDS = new Set([
  'status',
  'status_since',
  'poll_error',
  'unknown_figures',
  ...Object.keys(FIGURES),
])

function fieldChange(rail: string, old: JsonObject, now: JsonObject): Change[] {
  const figures = Object.entries(FIGURES)
    .map(([name, kind]) => ({ ...kind, from: figureOf(old, name), to: figureOf(now, name) }))
    .filter(({ from, to }) => from !== to)
  const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => !SEPARATE_FIELDS.has(name) && !same(old[name], now[name]))
    .sort()
  if (figures.length + fields.length === 0) return []
  return [
    {
      kind: 'rail',
      item: fields.length === 0 ? null : `${code(rail)} has a new ${fields.map(code).join(', ')}.`,
      figureRows: figures.map(
        ({ label, unit, from, to }) =>
          `| ${code(rail)} | ${label} | ${amount(unit, from)} | ${amount(unit, to)} |`,
      ),
    },
  ]
}

function figureOf(rail: JsonObject, name: string): number | null {
  const value = rail[name]
  if (typeof value !== 'number') return null
  return list(rail['unknown_figures']).includes(name) ? null : value
}

function amount(unit: string, value: number | null): string {
  if (value === null) return 'unknown'
  if (unit === '%') return `${trimmed(value * 100, 2)} %`
  return unit === '' ? String(value) : `${trimmed(value, 6)} ${unit}`
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, '')
}

function flagChanges(before: Facts, after: Facts): Change[] {
  const flagsOf = (facts: Facts) => entriesIn(facts, `${API}/honesty/flags`, 'flags', 'id')
  const old = flagsOf(before)
  const now = flagsOf(after)
  const isOpen = (flag: JsonObject | undefined) =>
    flag !== undefined && text(flag['closed_at']) === null
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((id): Change[] => {
    const flag = now.get(id) ?? old.get(id)
    const isOpenNow = isOpen(now.get(id))
    if (flag === undefined || isOpen(old.get(id)) === isOpenNow) return []
    const verb = isOpenNow ? 'Opened' : 'Closed'
    const kind = isOpenNow ? 'flag opened' : 'flag closed'
    const rail = text(flag['rail'])
    const on = rail === null ? '' : ` on ${code(rail)}`
    const title = text(flag['title']) ?? id
    const item = `${verb}: ${code(text(flag['kind']) ?? 'flag')}${on}: ${escapeMarkdown(title)}`
    return [{ kind, item }]
  })
}

function pactChanges(before: Facts, after: Facts): Change[] {
  const added = (group: string, verb: 'opened' | 'settled') => {
    const old = entriesIn(before, `${API}/pacts`, group, 'pact_id')
    return [...entriesIn(after, `${API}/pacts`, group, 'pact_id')]
      .filter(([pact]) => !old.has(pact))
      .map(([pact, entry]): Change => {
        const title = text(entry['title']) ?? ''
        const item = `Pact ${escapeMarkdown(pact)} ${verb}: ${escapeMarkdown(title)}`
        return { kind: `pact ${verb}`, item }
      })
  }
  return [...added('settled', 'settled'), ...added('in_flight', 'opened')]
}

function receiptChanges(before: Facts, after: Facts): Change[] {
  const receiptsOf = (facts: Facts) => entriesIn(facts, `${API}/receipts`, 'receipts', 'receipt_id')
  const old = receiptsOf(before)
  const isVerified = (receipt: JsonObject | undefined) => receipt?.['onchain_verified'] === true
  const change = (kind: ChangeKind, receipt: string, words: string): Change => ({
    kind,
    item: `Receipt ${code(receipt)} ${words}.`,
  })
  return [...receiptsOf(after)].flatMap(([receipt, now]): Change[] => [
    ...(old.has(receipt) ? [] : [change('receipt accepted', receipt, 'accepted')]),
    ...(isVerified(now) && !isVerified(old.get(receipt))
      ? [change('receipt verified', receipt, 'verified on chain')]
      : []),
  ])
}

function articleChanges(before: Facts, after: Facts): Change[] {
  const articlesOf = (facts: Facts) => entriesIn(facts, '/desk/feed.json', 'articles', 'slug')
  const old = articlesOf(before)
  return [...articlesOf(after)]
    .filter(([slug]) => !old.has(slug))
    .map(([slug, article]) => {
      const title = text(article['title']) ?? slug
      return { kind: 'article published', item: escapeMarkdown(title) }
    })
}

function documentChanges(before: Facts, after: Facts): Change[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return paths.flatMap((path): Change[] => {
    const [old, now] = [before[path], after[path]]
    if (same(old, now)) return []
    const verb = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'
    const kind = `document ${verb}` as const
    return [{ kind, item: `${verb}: ${code(path)}` }]
  })
}

function same(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true
  if (left === undefined || right === undefined) return false
  return canonicalize(left) === canonicalize(right)
}
