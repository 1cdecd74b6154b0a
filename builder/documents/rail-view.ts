import type { Rail } from '../../src/contract/schemas/rail.ts'
import { percentRead } from '../../src/core/backfill.ts'
import type { Backfill } from '../../src/core/backfill.ts'
import { recordOf } from '../../src/core/entries.ts'
import { evidencePath } from '../../src/core/evidence.ts'
import { figureNames, publicFigure } from '../../src/core/figures.ts'
import { isStale } from '../../src/core/flags/source-flags.ts'
import { isCurrent, isJudged } from '../../src/core/rail-poll.ts'
import { isoTime } from '../../src/core/time.ts'
import type { PollRecord, RailRecord, World } from '../world/world.ts'

/** Returns true for figures older than two poll cycles. Rails that are not polled are never stale. */
export function railIsStale(
  record: RailRecord,
  world: Pick<World, 'nowMs' | 'pollEveryMs'>,
): boolean {
  return (
    record.rule !== null && isStale(world.nowMs, record.state.lastGoodPollAtMs, world.pollEveryMs)
  )
}

/** Only recent audits count. */
export function railPaysNow({ state }: RailRecord, { nowMs }: Pick<World, 'nowMs'>): boolean {
  return state.status === 'paying' && isCurrent(state, nowMs)
}

/** False for an audit that is too old, too. */
export function isJudgedNow(
  { state, authored }: RailRecord,
  { nowMs }: Pick<World, 'nowMs'>,
): boolean {
  return isJudged(state, authored.status_basis) && isCurrent(state, nowMs)
}

/** False until a poll was judged. */
export function isAnyRailKnown({ rails, nowMs }: Pick<World, 'nowMs' | 'rails'>): boolean {
  return rails.some(
    (record) => record.state.figuresSource === 'poll' && isJudgedNow(record, { nowMs }),
  )
}

const views = new WeakMap<RailRecord, Rail>()

/** The published rail. An unknown figure is 0 and named in `unknown_figures`. Equal views of a record are one object. */
export function railView(record: RailRecord, world: Pick<World, 'nowMs' | 'pollEveryMs'>): Rail {
  const ofNow = { judged: isJudgedNow(record, world), stale: railIsStale(record, world) }
  const known = views.get(record)
  if (known?.judged === ofNow.judged && known.stale === ofNow.stale) return known
  const view = viewOf(record, ofNow)
  views.set(record, view)
  return view
}

function viewOf(record: RailRecord, ofNow: Pick<Rail, 'judged' | 'stale'>): Rail {
  const { state, authored } = record
  const {
    apply: _form,
    apply_manual_reason: _reason,
    audit: audited,
    notes: authoredNotes,
    ...facts
  } = authored
  const { figures } = state
  const unknown = figureNames.filter((name) => publicFigure(figures, name) === null)
  const published = recordOf(figureNames, (name) => publicFigure(figures, name) ?? 0)
  const notes = [authoredNotes, ...state.notes].filter((note) => note !== undefined)
  return {
    ...facts,
    status: state.status,
    ...ofNow,
    status_since: isoTime(state.statusSinceMs),
    status_rules: state.statusRules,
    status_reasons: [...state.statusReasons],
    ...published,
    unknown_figures: unknown,
    removed_30d: { ...state.removed30d },
    ...(figures.lastPayoutAtMs === null ? {} : { last_payout_at: isoTime(figures.lastPayoutAtMs) }),
    methodology: methodologyOf(record),
    rule: ruleName(record),
    ...(notes.length === 0 ? {} : { notes: notes.join(' ') }),
    figures_source: state.figuresSource,
    figures_as_of: isoTime(state.figuresAsOfMs),
    ...(record.backfill === null ? {} : { backfill: backfillView(record.backfill) }),
    evidence: [...record.evidence],
    audit: { ...audited, claims: audited.claims ?? [] },
    polled_at: isoTime(state.lastPollAtMs ?? state.figuresAsOfMs),
    poll_duration_ms: state.lastDurationMs,
    ...(state.lastError === null ? {} : { poll_error: state.lastError }),
  }
}

export function ruleName({ rule }: RailRecord): string {
  return rule === null ? 'audit by hand' : `${rule.name} v${rule.version}`
}

function methodologyOf(record: RailRecord): string {
  const { authored, rule } = record
  const tail =
    rule === null
      ? 'The figures are audited by hand; the rail is not polled.'
      : `Published figures follow the rule ${ruleName(record)}: ${rule.text}`
  return `${authored.methodology} ${tail}`
}

function backfillView(backfill: Backfill): NonNullable<Rail['backfill']> {
  return {
    from: isoTime(backfill.fromMs),
    to: isoTime(backfill.toMs),
    read_until: isoTime(backfill.readUntilMs),
    percent: percentRead(backfill),
  }
}

export function evidenceUri(poll: PollRecord | undefined): Pick<Rail, 'evidence_uri'> {
  const bundle = poll?.bundle ?? null
  return bundle === null ? {} : { evidence_uri: evidencePath(bundle) }
}
