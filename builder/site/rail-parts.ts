/** Parts that several pages show of a rail: links, figures, warnings, the sparkline. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import type { CountedFigure } from '../../src/core/figures.ts'
import { usdcOrNull } from '../../src/core/money.ts'
import { shortNumber } from '../../src/core/number-text.ts'
import { isCurrent } from '../../src/core/rail-poll.ts'
import { entriesByDay } from '../../src/core/time.ts'
import { ageText, amountText, day, mark, notJudged, pill } from '../../src/pages/figures.ts'
import {
  concat,
  inline,
  noContent,
  renderInline,
  untrustedText,
  link,
} from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../src/pages/html.ts'
import { railPath } from '../../src/pages/paths.ts'
import { sparkline } from '../charts/chart.ts'
import { railView } from '../documents/rail-view.ts'
import type { PollRecord, RailRecord, World } from '../world/world.ts'

/** A rail with its public view, shared by all pages of a build. */
export interface ShownRail {
  readonly record: RailRecord
  readonly view: Rail
}

/** The parts of the world that `shownRails` reads. */
export const railParts = ['nowMs', 'pollEveryMs', 'rails'] as const

export function shownRails(world: Pick<World, (typeof railParts)[number]>): ShownRail[] {
  return world.rails.map((record) => ({ record, view: railView(record, world) }))
}

export function railLink(rail: Pick<Rail, 'rail' | 'display_name'>): HtmlAndMarkdown {
  return link(railPath(rail.rail), untrustedText(rail.display_name))
}

/** A link to the rail, or the slug alone if there is no such rail. */
export function railLinkOf(slug: string, rails: ReadonlyMap<string, Rail>): HtmlAndMarkdown {
  const rail = rails.get(slug)
  return rail === undefined ? untrustedText(slug) : railLink(rail)
}

/** An audit that is too old says what the status was on its day. */
export function statusPill(
  view: Rail,
  { nowMs }: Pick<World, 'nowMs'>,
  shown = pill(view.status),
): HtmlAndMarkdown {
  const asOf = Date.parse(view.figures_as_of)
  const isOld = !isCurrent({ figuresSource: view.figures_source, figuresAsOfMs: asOf }, nowMs)
  if (isOld && view.status !== 'pre-traction') {
    return renderInline(inline`was ${shown} on ${day(asOf)}`)
  }
  return view.judged ? shown : notJudged
}

/** Reason why the figures do not come from the last poll, and their age; null for figures from the last poll. */
export function carriedText(view: Rail, world: Pick<World, 'nowMs'>): string | null {
  const age = `${ageText(world.nowMs - Date.parse(view.figures_as_of))} old`
  if (view.rule === 'audit by hand') return `audited manually, ${age}`
  if (view.figures_source === 'audit') {
    return view.poll_error === undefined
      ? `not polled yet, audit ${age}`
      : `poll failed, audit ${age}`
  }
  if (view.poll_error !== undefined) return `carried over, ${age}`
  return view.stale ? `stale, ${age}` : null
}

/** The gravest open doubt, and warnings about the origin and age of the figures in a row. */
export function doubtMarks(
  view: Rail,
  [gravest, ...more]: readonly Flag[],
  world: Pick<World, 'nowMs'>,
): HtmlAndMarkdown {
  const carried = carriedText(view, world)
  // An audit is always older than a poll, so its age is enough.
  const isStalePoll = view.stale && view.poll_error !== undefined && view.figures_source === 'poll'
  const flag = gravest && {
    html: html`<a class="pill" data-is="${gravest.severity}" href="${railPath(view.rail)}#flags"
      >${gravest.kind.replaceAll('_', ' ')}</a
    >`,
    md: link(`${railPath(view.rail)}#flags`, gravest.kind).md,
  }
  if (flag === undefined && carried === null) return renderInline('none')
  return concat([
    flag ?? noContent,
    mark(more.length === 0 ? null : `${more.length} more`),
    mark(carried),
    mark(isStalePoll ? 'stale' : null),
  ])
}

/** One amount in USDC a day, oldest first: from the last successful poll of the day, or null. */
export function daily(
  polls: readonly PollRecord[],
  figure: CountedFigure,
  days: number,
  nowMs: number,
): (number | null)[] {
  return entriesByDay(polls, ({ polledAtMs }) => polledAtMs, days, nowMs).map((ofDay) =>
    usdcOrNull(ofDay.find(({ figures }) => figures !== null)?.figures?.[figure] ?? null),
  )
}

const sparkDays = 30

/** Sparkline of the filtered 30-day volume, with its first and last value. */
export function volumeSpark(polls: readonly PollRecord[], nowMs: number): HtmlAndMarkdown {
  const series = daily(polls, 'tpv30dMicroUsdc', sparkDays, nowMs)
  const known = series.filter((value) => value !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined || known.length < 2) {
    return { html: html`<span class="unknown">no history</span>`, md: 'no history' }
  }
  const words = `${shortAmount(first)} → ${shortAmount(last)}`
  const title = `30-day volume in USDC over the last ${sparkDays} days: ${words}`
  const description = `${known.length} days with a known figure; the scale starts at zero.`
  const svg = sparkline({ setting: 'page', title, description, width: 96, height: 24 }, series)
  return {
    html: html`<span class="spark">${trusted(svg)}<small>${words}</small></span>`,
    md: words,
  }
}

function shortAmount(amountUsdc: number): string {
  return amountUsdc < 1 ? amountText(amountUsdc) : shortNumber(amountUsdc)
}
