/** Tables of honesty flags with the figures that raised them. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { isReaderTrouble } from '../../src/core/flags/index.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { hourMs } from '../../src/core/time.ts'
import { doubt, folded, para, stacked } from '../../src/pages/blocks.ts'
import {
  ageText,
  count,
  day,
  hash,
  percent,
  time,
  unknown,
  usdc,
  wholePercent,
} from '../../src/pages/figures.ts'
import { gauge } from '../../src/pages/gauge.ts'
import {
  inline,
  link,
  renderInline,
  small,
  untrustedText,
} from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { receiptPath } from '../../src/pages/paths.ts'
import {
  doubtsOf,
  isAudited,
  railLinkOf,
  statusDoubt,
  titleWithout,
} from '../../src/pages/rail-parts.ts'
import { cell, column, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'

/** The flags of a list that are not folded. */
const shownFlags = 9

export function flagsOf(
  rail: string,
  { openFlags, closedFlags }: Pick<World, 'closedFlags' | 'openFlags'>,
) {
  const isOfRail = (flag: Flag) => flag.rail === rail
  return { open: openFlags.filter(isOfRail), closed: closedFlags.filter(isOfRail) }
}

export function flagBlocks(
  view: Rail,
  world: Pick<World, 'closedFlags' | 'openFlags'>,
): (HtmlAndMarkdown | null)[] {
  const { open, closed } = flagsOf(view.rail, world)
  const subject = { name: view.display_name, about: null }
  const ofStatus = statusDoubt(view)
  return [
    ofStatus === null
      ? null
      : isAudited(view)
        ? doubt('info', ofStatus)
        : doubt('warning', inline`${ofStatus} ${link('#why', 'Why')}`),
    ofStatus === null || doubtsOf(open).length > 0 ? openDoubts(open, () => subject) : null,
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
  if (doubts.length === 0) return para('No open doubts.')
  const more = doubts.slice(shownFlags)
  return stacked([
    flagList(doubts.slice(0, shownFlags), subjectOf),
    more.length === 0
      ? null
      : folded(counted(more.length, 'more doubt'), flagList(more, subjectOf)),
  ])
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
    const since = inline`${evidence(flag)} ${closesWhen(flag)} ${link('/docs/disputing', 'Dispute')}`
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
function measuredShare({ evidence: found }: Pick<Flag, 'evidence'>) {
  const share = found['share'] ?? found['top_worker_share'] ?? found['removed_share']
  const limit = found['threshold']
  return typeof share === 'number' && typeof limit === 'number' && limit > 0
    ? { share, limit }
    : null
}

function scaleOf(flag: Flag): Html | null {
  const measured = measuredShare(flag)
  return (
    measured &&
    html`<div class="scale">
      ${gauge(measured.share, measured.limit, 1)}
      <small>limit ${wholePercent(measured.limit)}</small>
    </div>`
  )
}

function closesWhen({ kind, ...flag }: Flag): string {
  const measured = measuredShare(flag)
  if (measured !== null) return `It closes at ${wholePercent(measured.limit)} or less.`
  if (kind === 'receipt_reversed') {
    return 'It closes when the receipt is verified again, or after a month.'
  }
  if (kind === 'pact_sources_disagree') return 'It closes when the sources agree.'
  if (kind === 'figures_jump') return 'It closes when two polls in a row differ less.'
  return isReaderTrouble({ kind }) || kind === 'negative_or_impossible_figures'
    ? 'It closes with the next successful poll.'
    : 'It closes when a poll no longer shows it.'
}

const sum = '{amount_usdc} of {of_usdc}'
const polls = 'Failed polls in a row: {consecutive_failures}. Last good poll: {last_good_poll_at}.'

/** A sentence for each kind. Names in braces are replaced by the values that the flag has for them. */
const sentences: Readonly<Record<Flag['kind'], string>> = {
  concentrated: 'the top worker of {unique_workers_30d} received {top_worker_share}.',
  self_dealing: `{removed_usdc} of {tpv_30d_raw_usdc} raw moved within one operator: {removed_share}.`,
  mostly_filtered: 'the rule left out {removed_usdc} of {tpv_30d_raw_usdc} raw: {removed_share}.',
  circular_flow: `${sum} came back to its payers, or stayed within one party: {share}.`,
  common_funder: `{payers} payers with one source of funds paid ${sum}: {share}.`,
  linked_workers: `{workers} workers received ${sum}: {share}.`,
  dominant_payer: `one of {parties_30d} parties paid ${sum} net: {share}.`,
  single_payment: `one payment was ${sum}: {share}.`,
  batch_payouts: `equal payouts were ${sum}: {share}.`,
  burst: `the busiest hours ({hours}) had ${sum}: {share}. Payments: {payments}.`,
  uniform_payers: `{payers} payers paid ${sum}, {mean_usdc} on average: {share}.`,
  figures_jump:
    '{figure} was {after}, after {before} at the poll before. The limit is {factor} times.',
  clock_skew: 'the poll of {polled_at} read a payout dated {last_payout_at}.',
  poll_failed: `{poll_error}. ${polls}`,
  stale_figures: `${polls} Minutes between polls: {poll_every_minutes}.`,
  negative_or_impossible_figures: 'the poll refused: {refused}.',
  pact_sources_disagree: '{between_1}: {finding_1}. Disagreements: {disagreements}.',
  receipt_reversed:
    '{reason}. Receipt {receipt_id}, {amount_usdc} on {chain}, transaction {tx_hash}.',
}

/** The flag keeps the evidence of the day it opened, so each sentence says the day. */
function evidence({ kind, opened_at: at, evidence: found }: Flag): Inline {
  const parts = sentences[kind].split(/[{}]/)
  const shown = parts.map((part, index) => (index % 2 === 0 ? part : valueOf(part, found)))
  return inline`When it opened, ${day(at)}: ${shown}`
}

function valueOf(name: string, found: Flag['evidence']): Inline {
  const value = found[name] ?? null
  if (value === null) return unknown
  // The members `before` and `after` have the unit of the figure.
  const unit = name === 'before' || name === 'after' ? String(found['figure']) : name
  if (typeof value === 'number') {
    if (unit.endsWith('_usdc')) return usdc(value)
    return name.endsWith('share') ? percent(value) : count(value)
  }
  const text = String(value)
  if (name.endsWith('_at')) return time(text)
  if (name === 'receipt_id') return link(receiptPath(text), hash(text))
  return name === 'tx_hash'
    ? hash(text)
    : untrustedText(name === 'figure' ? figureWords(text) : text)
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

/** `workers of 30 days` for `unique_workers_30d`. */
function figureWords(name: string): string {
  const [what = ''] = name.replace(/^unique_/, '').split('_30d')
  return `${what === 'tpv' ? 'filtered volume' : what} of 30 days`
}
