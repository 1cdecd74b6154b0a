/** Tables of honesty flags with the figures that raised them. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { isReaderTrouble } from '../../src/core/flags/index.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { folded, para, stacked } from '../../src/pages/blocks.ts'
import { amountText, pill, time } from '../../src/pages/figures.ts'
import { gauge } from '../../src/pages/gauge.ts'
import { code, untrustedText, join, inline } from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { cell, column, fixedColumn, table, timeColumn } from '../../src/pages/table.ts'
import { bySeverity, severityOrder } from '../documents/flags.ts'
import type { World } from '../world/world.ts'
import { railLinkOf, titleWithout } from './rail-parts.ts'

export function flagsOf(
  rail: string,
  { openFlags, closedFlags }: Pick<World, 'closedFlags' | 'openFlags'>,
) {
  const isOfRail = (flag: Flag) => flag.rail === rail
  return { open: openFlags.filter(isOfRail), closed: closedFlags.filter(isOfRail) }
}

/** The open flags except those about our own reader, gravest first. */
export function doubtsOf({ openFlags }: { readonly openFlags: readonly Flag[] }): readonly Flag[] {
  return openFlags.filter((flag) => !isReaderTrouble(flag)).toSorted(bySeverity)
}

export function flagBlocks(
  { rail, display_name: name }: Rail,
  world: Pick<World, 'closedFlags' | 'openFlags'>,
): (HtmlAndMarkdown | null)[] {
  const { open, closed } = flagsOf(rail, world)
  return [
    ...openFlagBlocks(open, ({ title }) => untrustedText(titleWithout(name, title))),
    closed.length === 0
      ? null
      : folded(
          counted(closed.length, 'closed flag'),
          flagTable('closed-flags', 'Most recent first.', closed, null),
        ),
  ]
}

/** Doubts first, then the trouble of our own reader, folded. */
export function openFlagBlocks(
  flags: readonly Flag[],
  titleOf: (flag: Flag) => HtmlAndMarkdown,
): (HtmlAndMarkdown | null)[] {
  const doubts = doubtsOf({ openFlags: flags })
  const trouble = flags.filter(isReaderTrouble)
  const kinds = [...groupBy(trouble, ({ kind }) => kind)]
  const summary = kinds.map(([kind, { length }]) => `${length} ${kind.replaceAll('_', ' ')}`)
  return [
    doubts.length === 0 ? para('No open doubts.') : flagList(doubts, titleOf),
    trouble.length === 0
      ? null
      : folded(
          `Trouble of our own reader: ${summary.join(', ')}`,
          stacked([
            para(
              'This says nothing about the rails: we could not read them, and show older figures with their dates.',
            ),
            flagList(trouble, titleOf),
          ]),
        ),
  ]
}

function flagList(
  flags: readonly Flag[],
  titleOf: (flag: Flag) => HtmlAndMarkdown,
): HtmlAndMarkdown {
  const shown = flags.map((flag) => {
    const title = titleOf(flag)
    const about = inline`Open since ${time(flag.opened_at)}. ${closesWhen(flag)} ${evidence(flag)}`
    return { flag, title, about }
  })
  return {
    html: html`<ul class="flags">
      ${shown.map(
        ({ flag, title, about }) =>
          html`<li class="${flag.severity}" id="${flag.id}">
            <span class="severity">${flag.severity}</span>
            <span class="kind">${flag.kind.replaceAll('_', ' ')}</span>
            <h3>${title.html}</h3>
            ${scaleOf(flag)}
            <p>${about.html}</p>
          </li>`,
      )}
    </ul>`,
    md: shown
      .map(({ flag, title, about }) => `- ${flag.severity}, ${flag.kind}: ${title.md}. ${about.md}`)
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
export function flagTable(
  id: string,
  caption: Inline,
  flags: readonly Flag[],
  rails: ReadonlyMap<string, Rail> | null,
): HtmlAndMarkdown {
  const isClosed = flags.some((flag) => flag.closed_at !== undefined)
  return table(flags, {
    id,
    caption,
    rowId: (flag) => flag.id,
    columns: [
      column('Doubt', ({ kind, title }) =>
        cell(inline`${code(kind)} ${untrustedText(title)}`, kind),
      ),
      column('Severity', ({ severity }) => cell(pill(severity), severityOrder[severity])),
      rails === null
        ? null
        : column('Rail', ({ rail }) => (rail === null ? 'the ledger' : railLinkOf(rail, rails))),
      fixedColumn('Evidence', evidence, 'wide'),
      timeColumn('Opened', (flag) => flag.opened_at),
      isClosed ? column('Closed', closing) : null,
    ],
    empty: 'None.',
  })
}

function closing(flag: Flag) {
  const { closed_at: closedAt, close_reason: reason } = flag
  if (closedAt === undefined) return cell('open', null)
  const why = reason === undefined ? null : inline`: ${untrustedText(reason)}`
  return cell(inline`${time(closedAt)}${why}`, Date.parse(closedAt))
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
