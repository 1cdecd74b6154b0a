/** Tables of honesty flags with the figures that raised them. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { isReaderTrouble } from '../../src/core/flags/index.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { hourMs } from '../../src/core/time.ts'
import { folded, para, stacked } from '../../src/pages/blocks.ts'
import { ageText, amountText, time } from '../../src/pages/figures.ts'
import { gauge } from '../../src/pages/gauge.ts'
import {
  code,
  inline,
  join,
  renderInline,
  small,
  untrustedText,
} from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { doubtsOf, railLinkOf, titleWithout } from '../../src/pages/rail-parts.ts'
import { cell, column, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'

export function flagsOf(
  rail: string,
  { openFlags, closedFlags }: Pick<World, 'closedFlags' | 'openFlags'>,
) {
  const isOfRail = (flag: Flag) => flag.rail === rail
  return { open: openFlags.filter(isOfRail), closed: closedFlags.filter(isOfRail) }
}

export function flagBlocks(
  { rail, display_name: name }: Rail,
  world: Pick<World, 'closedFlags' | 'openFlags'>,
): (HtmlAndMarkdown | null)[] {
  const { open, closed } = flagsOf(rail, world)
  const subject = { name, about: null }
  return [
    openDoubts(open, () => subject),
    troubleBlock(open, () => subject),
    closed.length === 0
      ? null
      : folded(
          counted(closed.length, 'closed flag'),
          closedFlagTable('closed-flags', 'Most recent first.', closed, null),
        ),
  ]
}

/** The title of a flag without the name of its rail, which is shown next to it. `name` is null for flags about the ledger. */
function titleText({ title }: Flag, name: string | null): HtmlAndMarkdown {
  return untrustedText(name === null ? title : titleWithout(name, title))
}

/** `name`: of the rail, which its titles need not repeat; `about`: the rail and its status, where the page is not about one. */
export interface Subject {
  readonly name: string | null
  readonly about: Inline
}

export function openDoubts(
  flags: readonly Flag[],
  subjectOf: (flag: Flag) => Subject,
): HtmlAndMarkdown {
  const doubts = doubtsOf(flags)
  return doubts.length === 0 ? para('No open doubts.') : flagList(doubts, subjectOf)
}

/** The trouble of our own reader, folded; null if there is none. */
export function troubleBlock(
  flags: readonly Flag[],
  subjectOf: (flag: Flag) => Subject,
  label = 'Trouble of our own reader',
): HtmlAndMarkdown | null {
  const trouble = flags.filter(isReaderTrouble)
  if (trouble.length === 0) return null
  const kinds = [...groupBy(trouble, ({ kind }) => kind)]
  const summary = kinds.map(([kind, { length }]) => `${length} ${kindWords({ kind })}`)
  return folded(
    `${label}: ${summary.join(', ')}`,
    stacked([
      para(
        'This says nothing about the rails: we could not read them, and show older figures with their dates.',
      ),
      flagList(trouble, subjectOf),
    ]),
  )
}

export function kindWords({ kind }: Pick<Flag, 'kind'>): string {
  return kind.replaceAll('_', ' ')
}

function flagList(flags: readonly Flag[], subjectOf: (flag: Flag) => Subject): HtmlAndMarkdown {
  const shown = flags.map((flag) => {
    const { name, about } = subjectOf(flag)
    const since = inline`Open since ${time(flag.opened_at)}. ${closesWhen(flag)} ${evidence(flag)}`
    return { flag, title: titleText(flag, name), about: renderInline(about), since }
  })
  return {
    html: html`<ul class="flags">
      ${shown.map(
        ({ flag, title, about, since }) =>
          html`<li class="${flag.severity}" id="${flag.id}">
            <p>
              <span class="severity">${flag.severity}</span> ${about.html}
              <span class="kind">${kindWords(flag)}</span>
            </p>
            <h3>${title.html}</h3>
            <p>${since.html}</p>
            ${scaleOf(flag)}
          </li>`,
      )}
    </ul>`,
    md: shown
      .map(({ flag, title, about, since }) => {
        const rail = about.md === '' ? '' : ` ${about.md}:`
        return `- ${flag.severity}, ${flag.kind}:${rail} ${title.md}. ${since.md}`
      })
      .join('\n'),
  }
}

/** The share that a flag measures, and its limit; null for other flags. */
function measuredShare({ evidence: found }: Flag): { share: number; limit: number } | null {
  const share = found['share'] ?? found['top_worker_share'] ?? found['removed_share']
  const limit = found['threshold']
  return typeof share === 'number' && typeof limit === 'number' && limit > 0
    ? { share, limit }
    : null
}

function scaleOf(flag: Flag): Html | null {
  const measured = measuredShare(flag)
  return measured && gauge(measured.share, measured.limit, 1)
}

function closesWhen(flag: Flag): string {
  const measured = measuredShare(flag)
  if (measured !== null) return `It closes at ${Math.round(measured.limit * 100)} % or less.`
  if (flag.kind === 'receipt_reversed') {
    return 'It closes when the receipt is verified again, or after a month.'
  }
  if (flag.kind === 'pact_sources_disagree') return 'It closes when the sources agree.'
  return isReaderTrouble(flag)
    ? 'It closes with the next successful poll.'
    : 'It closes when a poll no longer shows it.'
}

/** `rails`: by slug, for a column of rails; null on the page of one rail. */
export function closedFlagTable(
  id: string,
  caption: Inline,
  flags: readonly Flag[],
  rails: ReadonlyMap<string, Rail> | null,
): HtmlAndMarkdown {
  return table(flags, {
    id,
    caption,
    rowId: (flag) => flag.id,
    columns: [
      column(
        'Doubt',
        (flag) => {
          const name = (rails?.get(flag.rail ?? '') ?? null)?.display_name ?? null
          const about = inline`${flag.severity}, ${kindWords(flag)}: ${evidence(flag)}`
          return cell(inline`${titleText(flag, name)} ${small(about)}`, flag.kind)
        },
        { kind: 'wide' },
      ),
      rails === null
        ? null
        : column('Rail', ({ rail }) => (rail === null ? 'the ledger' : railLinkOf(rail, rails))),
      column('Lasted', ({ opened_at: from, closed_at: to }) => {
        if (to === undefined) return cell('still open', null)
        const lastedMs = Date.parse(to) - Date.parse(from)
        return cell(lastedMs < hourMs ? 'less than an hour' : ageText(lastedMs), lastedMs)
      }),
      column('Closed', ({ closed_at: to, close_reason: why }) =>
        cell(
          inline`${to === undefined ? 'no' : time(to)} ${why === undefined ? null : small(untrustedText(why))}`,
          to === undefined ? null : Date.parse(to),
        ),
      ),
    ],
    empty: 'None.',
  })
}

function evidence(flag: Flag): HtmlAndMarkdown {
  const entries = Object.entries(flag.evidence).map(([name, value]) => {
    const shown =
      value === null ? 'unknown' : typeof value === 'number' ? numberText(value) : String(value)
    return inline`${code(name)} ${untrustedText(shown)}`
  })
  return entries.length === 0 ? inline`none` : join(entries, ', ')
}

function numberText(value: number): string {
  return Number.isInteger(value) || Math.abs(value) < 1 ? String(value) : amountText(value)
}
