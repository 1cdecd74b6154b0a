/** What others say about a rail: the audited figures, and the claims that no rule uses. */
import type { AuditClaim, Rail } from '../contract/schemas/rail.ts'
import { entriesOf } from '../core/entries.ts'
import { counted, grouped, shortNumber } from '../core/number-text.ts'
import { monthDays } from '../core/rules/audited.ts'
import { daysBetween } from '../core/time.ts'
import { doubt, section } from './blocks.ts'
import { amountText, pencil, shortAmount, sub } from './figures.ts'
import { inline, link, markdownText, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import { cell, column, table } from './table.ts'

type FigureName = keyof Rail['audit']['figures']

/** The unit of shares in rail files. */
const shareUnit = 'of 1'

const figureTexts: Readonly<Record<FigureName, readonly [label: string, unit: string]>> = {
  tpv_30d_usdc: ['Volume', 'USDC'],
  tpv_30d_raw_usdc: ['Raw volume', 'USDC'],
  unique_creators_30d: ['Creators', 'creators'],
  unique_workers_30d: ['Workers', 'workers'],
  top_worker_share: ['Share of the top worker', shareUnit],
  payouts_30d: ['Payouts', 'payouts'],
}

export function claimSection({ audit, figures_source: source }: Rail): HtmlAndMarkdown | null {
  const figures = entriesOf(audit.figures).flatMap(([name, figure]) => {
    if (figure === undefined) return []
    const [label, unit] = figureTexts[name]
    // The rules accept a count of a shorter time only where more days cannot make it smaller.
    const kind = daysBetween(figure.from, figure.to) < monthDays ? 'lower_bound' : 'counted'
    const reason =
      source === 'audit'
        ? 'The status rules use it until a poll succeeds.'
        : 'Our own reading has replaced it.'
    return [{ ...figure, figure: label, unit, kind, reason, covers: 'mixed' } as const]
  })
  const claims = audit.claims.map((claim) => ({ ...claim, reason: `${kindWords[claim.kind][1]}.` }))
  const said = [...figures, ...claims]
  if (said.length === 0) return null
  return section(
    'claims',
    'What others say',
    table(said, {
      id: 'said',
      caption: 'As published, on the day shown; not measured by this ledger. No sum contains it.',
      columns: [
        column('What', ({ figure }) => untrustedText(figure)),
        column('Value', (claim) => cell(claimFigure(claim, exactAmount), claim.value), {
          kind: 'volume',
        }),
        column(
          'Why it is not our figure',
          ({ reason, method, covers }) =>
            doubt(
              'info',
              inline`${reason} ${untrustedText(method)}${covers === 'mixed' ? '' : ` It covers ${covers} only.`}`,
            ),
          { kind: 'doubt-column', sortable: false },
        ),
        column('Counted by', ({ counted_by: who, source, to }) =>
          cell(inline`${link(source, untrustedText(who))} ${sub(`to ${to}`)}`, to),
        ),
      ],
    }),
  )
}

function shortFigure(value: number, unit: string): string {
  return unit.startsWith('USD') ? shortAmount(value) : shortNumber(value)
}

function exactAmount(value: number, unit: string): string {
  if (unit === shareUnit) return `${(value * 100).toFixed(1)} %`
  return unit.startsWith('USD') && !Number.isInteger(value)
    ? amountText(value)
    : grouped(String(value))
}

const kindWords: Readonly<Record<AuditClaim['kind'], readonly [word: string, reason: string]>> = {
  counted: ['counted by others', 'Counted by another rule than ours'],
  operator: ['stated by the operator', 'Stated by the operator; nobody else can check it'],
  lower_bound: ['at least', 'Covers less than 30 days'],
  upper_bound: ['at most', 'An upper bound'],
  estimate: ['estimate', 'An estimate, not settled payments'],
  lifetime: ['since launch', 'A sum since launch says nothing about the last 30 days'],
  listing: ['listed', 'A listing is not a payment'],
  offer: ['offered', 'An offer is not a payment'],
}

const kindOrder = Object.keys(kindWords)

/** True for an unread rail about which others published something. */
export function hasClaims({ figures_source: source, audit }: Rail): boolean {
  return source === 'audit' && audit.claims.length > 0
}

/** The claims about an unread rail, those that come nearest to a measured volume of 30 days first, then the newest. */
export function shownClaims({ figures_source: source, audit }: Rail): readonly AuditClaim[] {
  if (source === 'poll') return []
  const rank = ({ figure, kind, unit }: AuditClaim) =>
    kindOrder.indexOf(kind) +
    (unit.startsWith('USD') ? 0 : kindOrder.length) +
    (figure.startsWith('Raw') ? 0.5 : 0)
  const offMonth = ({ from, to }: AuditClaim) =>
    from === null ? Infinity : Math.abs(daysBetween(from, to) - 30)
  return audit.claims.toSorted(
    (a, b) => rank(a) - rank(b) || Math.sign(offMonth(a) - offMonth(b)) || (a.to < b.to ? 1 : -1),
  )
}

/** In pencil, with its unit, days and kind. */
export function claimFigure(
  claim: Pick<AuditClaim, 'from' | 'kind' | 'to' | 'unit' | 'value'>,
  show: (value: number, unit: string) => string = shortFigure,
): HtmlAndMarkdown {
  const { value, unit, from, to, kind } = claim
  const window = from === null ? '' : counted(daysBetween(from, to), 'day')
  const about = [unit === shareUnit ? '' : unit, window].filter((part) => part !== '').join(', ')
  const figure = pencil(show(value, unit))
  const [word] = kindWords[kind]
  return {
    html: html`<b>${figure.html}</b> <small>${about}</small> <span class="kind">${word}</span>`,
    md: `${figure.md} ${markdownText(about)} (${word})`,
  }
}

/** Why the rules do not use a claim, and who made it when. */
export function notTakenOver({ kind, counted_by: who, source, to }: AuditClaim): Inline {
  return inline`${kindWords[kind][1]}. ${link(source, untrustedText(who))}, ${to}`
}
