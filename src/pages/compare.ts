/** `/compare`: two to four rails side by side; without them, a form to choose them. */
import type { Flag } from '../contract/schemas/flag.ts'
import type { Rail } from '../contract/schemas/rail.ts'
import { knownFigure } from '../core/figures.ts'
import { groupBy } from '../core/group-by.ts'
import { counted } from '../core/number-text.ts'
import { similar } from '../core/similar.ts'
import { folded, htmlOnly, links, para, verdict } from './blocks.ts'
import { claimFigure, shownClaims } from './claims.ts'
import { count, day, percent, shortAmount, sub, time, unknown } from './figures.ts'
import { rangeBar } from './gauge.ts'
import { code, inline, join, link, strong, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { chip } from './lists.ts'
import type { SitePage } from './page.ts'
import { railPath } from './paths.ts'
import {
  doubtNote,
  doubtsOf,
  entryCost,
  incomeRange,
  isAudited,
  lastPayout,
  needs,
  readText,
  statusPill,
  volumeCell,
} from './rail-parts.ts'
import { column, table } from './table.ts'
import type { TableCell } from './table.ts'
import { verdictOf } from './why.ts'

export const comparePath = '/compare'
const [fewest, most] = [2, 4]

export interface ListedRails {
  readonly rails: readonly Rail[]
  /** Open flags. */
  readonly flags: readonly Flag[]
  readonly nowMs: number
}

export const compareLink = (slugs: readonly string[]) => `${comparePath}?rails=${slugs.join(',')}`

/** `asked`: slugs, as a reader sent them. */
export function comparePage(listed: ListedRails, asked: readonly string[]): SitePage {
  const slugs = [...new Set(asked)]
  const chosen = slugs.flatMap((slug) => listed.rails.find(({ rail }) => rail === slug) ?? [])
  const problem = problemOf(slugs, chosen, listed.rails)
  const names = chosen.map((view) => view.display_name)
  const form = htmlOnly(chooser(listed.rails, slugs))
  return {
    path: comparePath,
    title:
      problem === null
        ? `${new Intl.ListFormat('en-GB').format(names)}, side by side`
        : 'Compare rails',
    description: 'Two to four rails side by side: income, doubts, volume, and what a start costs.',
    crumb: [
      ['/', 'Rails'],
      [null, 'Compare'],
    ],
    nav: null,
    listed: false,
    body:
      problem === null
        ? [
            verdict(answer(chosen)),
            comparison(chosen, listed),
            folded('Choose other rails', form),
            links([
              ...chosen.map(({ rail, display_name: name }) => [railPath(rail), name] as const),
              ['/docs/rules', 'How rails are judged'],
              ['/api/v1/rails.csv', 'All rails as CSV'],
            ]),
          ]
        : [
            verdict(problem),
            para(
              inline`In an address, commas separate the names: ${code(`${comparePath}?rails=a,b`)}.`,
            ),
            form,
          ],
  }
}

/** What is wrong with the choice; null if nothing is. */
function problemOf(
  slugs: readonly string[],
  chosen: readonly Rail[],
  rails: readonly Rail[],
): Inline | null {
  const known = chosen.map(({ rail }) => rail)
  const [missing] = slugs.filter((slug) => !known.includes(slug))
  if (missing !== undefined) {
    const all = rails.map(({ rail }) => rail)
    const near = similar(all, missing).map((slug) => link(compareLink([...known, slug]), slug))
    const hint =
      near.length === 0 ? 'Choose from the list.' : inline`Did you mean ${join(near, ', ')}?`
    return inline`No rail has the name ${untrustedText(missing)}. ${hint}`
  }
  if (slugs.length > most)
    return `${slugs.length} rails are too many to compare: choose two to four.`
  if (slugs.length >= fewest) return null
  return slugs.length === 0 ? 'Choose two to four rails.' : 'Choose at least one more rail.'
}

function answer(chosen: readonly Rail[]): Inline {
  const paying = chosen.filter(({ judged, status }) => judged && status === 'paying').length
  const medians = chosen.flatMap((view) => {
    const income = incomeRange(view)
    const name = untrustedText(view.display_name)
    return income === null
      ? []
      : inline`less than ${strong(`${shortAmount(income.median)} USDC a day`)} on ${name}`
  })
  const rest =
    medians.length === 0 ? 'all of them' : medians.length < chosen.length ? 'the others' : null
  return [
    `${paying} of ${counted(chosen.length, 'rail')} ${paying === 1 ? 'has' : 'have'} the status “paying”. `,
    medians.length === 0 ? null : inline`Half of the workers earn ${join(medians, ', ')}. `,
    rest === null ? null : `What a typical worker earns on ${rest} is unknown.`,
  ]
}

/** Without `cell`: the title of the rows below. */
type Row = readonly [label: string, cell?: (view: Rail) => TableCell | Inline]

function comparison(chosen: readonly Rail[], { flags, nowMs }: ListedRails): HtmlAndMarkdown {
  const doubts = groupBy(doubtsOf(flags), ({ rail }) => rail)
  const ranges = chosen.flatMap((view) => incomeRange(view) ?? [])
  const doubtsAbout = ({ rail }: Rail) => doubts.get(rail) ?? []
  const rows: readonly Row[] = [
    ['Status', (view) => inline`${statusPill(view, { nowMs })} ${sub(judgedBy(view))}`],
    ['In short', verdictOf],
    ['What a worker earns'],
    [
      'Middle half, USDC a day',
      (view) => {
        const income = incomeRange(view)
        if (income === null) return unknown
        const { low, median, high } = income
        return inline`${strong(`${shortAmount(low)} to ${shortAmount(high)}`)}${htmlOnly(rangeBar(income, ranges))} half earn less than ${shortAmount(median)}`
      },
    ],
    ['Workers, 30 days', (view) => count(knownFigure(view, 'unique_workers_30d'))],
    ['Top worker, of filtered volume', (view) => percent(knownFigure(view, 'top_worker_share'))],
    ['What we doubt'],
    ['Gravest doubt', (view) => doubtNote(view, doubtsAbout(view), { nowMs })],
    ['Open doubts', (view) => partOf(view, 'flags', String(doubtsAbout(view).length))],
    ['What others say', claims],
    ['Read', (view) => readText(view, { nowMs })],
    ['Evidence', (view) => partOf(view, 'check', `tier ${view.evidence_tier}`)],
    ['Money, 30 days'],
    ['Kept volume', volumeCell],
    ['Payers', (view) => count(knownFigure(view, 'unique_creators_30d'))],
    ['Last payout', lastPayout],
    ['To start'],
    ['Entry cost', entryCost],
    ['You need', needs],
    ['Chain', ({ chain }) => chain],
    ['Begin', (view) => partOf(view, 'earn', `How to start on ${view.display_name}`)],
  ]
  return table(rows, {
    id: 'compare',
    caption: 'Past pay is no promise. A figure that could not be read is unknown, never zero.',
    sortable: false,
    isCards: true,
    rowData: ([, show]) => (show === undefined ? { row: 'group' } : {}),
    columns: [
      column('Fact', ([label]) => label),
      ...chosen.map((view) => column(view.display_name, ([, show]: Row) => show?.(view) ?? null)),
    ],
  })
}

function partOf({ rail }: Rail, anchor: string, label: Inline): HtmlAndMarkdown {
  return link(`${railPath(rail)}#${anchor}`, label)
}

function judgedBy(view: Rail): Inline {
  if (!view.judged) return 'no rule was applied'
  return isAudited(view)
    ? inline`by rules version ${view.status_rules}, from counts of others to ${day(view.figures_as_of)}`
    : inline`since ${day(view.status_since)}, by rules version ${view.status_rules}, from our poll of ${time(view.figures_as_of)}`
}

function claims(view: Rail): Inline {
  const said = Object.keys(view.audit.figures).length + view.audit.claims.length
  if (said === 0) return 'nothing listed'
  const all = partOf(view, 'claims', counted(said, 'figure'))
  const [claim] = shownClaims(view)
  return claim === undefined ? all : inline`${claimFigure(claim)} ${sub(all)}`
}

function chooser(rails: readonly Rail[], slugs: readonly string[]): Html {
  return html`<form class="ask" action="${comparePath}" method="get" autocomplete="off">
    <fieldset>
      <legend>Two to four rails</legend>
      <div class="chips">
        ${rails.map(({ rail, display_name: name }) => chip('rails', rail, slugs, untrustedText(name)))}
      </div>
    </fieldset>
    <button class="btn" type="submit">Compare</button>
  </form>`
}
