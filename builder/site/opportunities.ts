/** `/opportunities`: a card for each rail that pays now, highest expected income first, then what others once counted. */
import type { Opportunity } from '../../src/contract/schemas/opportunity.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { knownFigure } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import {
  actions,
  facts,
  introduction,
  links,
  stacked,
  verdict,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { day, pencil, shortAmount, sub, time, unknown } from '../../src/pages/figures.ts'
import { rangeBar } from '../../src/pages/gauge.ts'
import type { IncomeRange } from '../../src/pages/gauge.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { railPath } from '../../src/pages/paths.ts'
import {
  doubtNote,
  entryCost,
  incomeRange,
  isAudited,
  keptVolume,
  lastPayout,
  needs,
  payingParts,
  payingSections,
  railLink,
  statusPill,
} from '../../src/pages/rail-parts.ts'
import { isAnyRailKnown } from '../documents/rail-view.ts'
import type { World } from '../world/world.ts'
import { pageSource } from './page-source.ts'
import { listedParts, listedRails } from './shown-rails.ts'
import type { ListedRail } from './shown-rails.ts'

export const opportunitiesPage = pageSource(listedParts, (world) => {
  const paying = listedRails(world)
    .filter(({ view, offer }) => offer !== undefined || isOldCount(view))
    .toSorted((a, b) => incomeOf(b) - incomeOf(a))
  const ranges = paying.flatMap(({ view }) => (isAudited(view) ? [] : (incomeRange(view) ?? [])))
  const answer = verdictOf(paying, isAnyRailKnown(world))
  return {
    path: '/opportunities',
    title: 'Where can my agent earn?',
    description: answer,
    nav: '/opportunities',
    json: ['/api/v1/opportunities'],
    body: [
      verdict(answer),
      introduction(
        inline`Expected income is the average daily earnings per worker over 30 days, excluding the top earner. It is past pay of others and no promise; what we doubt is on the card. A bar shows the middle half of the workers and the one in the middle, on one logarithmic scale for all cards. ${link('/arbitrage', 'How it is calculated')}`,
      ),
      actions([
        ['/match', 'Only what my agent can do'],
        ['/compare', 'Compare rails', 'quiet'],
      ]),
      ...payingSections(paying, (rails) => cards(rails.map((rail) => card(rail, ranges, world)))),
      verifyBox('/api/v1/opportunities'),
      links([
        ['/api/v1/opportunities', 'JSON'],
        ['/skills', 'By skill'],
        ['/', 'All rails'],
      ]),
    ],
  }
})

/** Others counted it as paying, too long ago to say what it pays now. */
const isOldCount = (view: Rail) => isAudited(view) && view.status === 'paying' && !view.judged

const incomeOf = ({ offer }: ListedRail) => offer?.expected_usd_per_day ?? -1

function verdictOf(rails: readonly ListedRail[], isKnown: boolean): string {
  if (!isKnown) return 'No reading has shown yet which rails pay.'
  const paying = rails.filter(({ offer }) => offer !== undefined)
  if (paying.length === 0) return 'No rail pays now.'
  const clear = paying.filter(({ rank }) => rank === 0)
  const known = clear.map(incomeOf).filter((income) => income >= 0)
  const [lowest, highest] = [Math.min(...known), Math.max(...known)].map(shortAmount)
  const range = lowest === highest ? highest : `${lowest} to ${highest}`
  const without = clear.length - known.length
  return [
    `${counted(paying.length, 'rail')} ${paying.length === 1 ? 'pays' : 'pay'} now${payingParts(paying)}.`,
    known.length === 0
      ? ''
      : ` On those without a warning or old figures, a worker earned ${range} USDC a day on average.`,
    without === 0 ? '' : ` On ${without} of those rails the income is unknown.`,
  ].join('')
}

function cards(shown: readonly HtmlAndMarkdown[]): HtmlAndMarkdown {
  return {
    html: html`<ul class="offers">
      ${shown.map((one) => html`<li>${one.html}</li>`)}
    </ul>`,
    md: shown.map(({ md }) => md).join('\n\n'),
  }
}

function card(
  { view, offer, doubts }: ListedRail,
  ranges: readonly IncomeRange[],
  world: Pick<World, 'nowMs'>,
): HtmlAndMarkdown {
  const name = inline`${railLink(view)}`
  const status = statusPill(view, world)
  const place = sub(`${view.category} · ${view.chain}`)
  const apply = view.sample_apply_url
  const body = stacked([
    offer === undefined ? countedVolume(view) : income(view, offer, ranges),
    doubtNote(view, doubts, world),
    facts([
      ['Entry cost', entryCost(view)],
      ['You need', needs(view)],
      ['Last payout', lastPayout(view)],
      [
        'Read',
        isAudited(view) ? inline`${day(view.figures_as_of)}, by others` : time(view.figures_as_of),
      ],
    ]),
    actions([
      [`${railPath(view.rail)}#earn`, 'How to start'],
      apply === undefined ? [view.reference_url, 'Website', 'quiet'] : [apply, 'Apply', 'quiet'],
    ]),
  ])
  return {
    html: html`<div class="head">
        <h3>${name.html}</h3>
        <span>${status.html}</span>
      </div>
      ${place.html} ${body.html}`,
    md: `### ${name.md}: ${status.md}\n\n${place.md}\n\n${body.md}`,
  }
}

function income(
  view: Rail,
  { expected_usd_per_day: expected }: Opportunity,
  ranges: readonly IncomeRange[],
): HtmlAndMarkdown {
  const workers = knownFigure(view, 'unique_workers_30d')
  const share = knownFigure(view, 'top_worker_share')
  const volume = knownFigure(view, 'tpv_30d_usdc')
  if (expected === null) {
    const why =
      workers !== null && workers < 2
        ? 'Only one worker was paid, so nothing is known about another.'
        : 'The volume, the number of workers or the share of the top one is unknown.'
    return headline(unknown, '', why)
  }
  const top =
    share === null || volume === null
      ? ''
      : ` The top one earned ${shortAmount((volume * share) / 30)} a day.`
  const half = incomeRange(view)
  const range =
    half === null
      ? ''
      : ` Half of the paid workers earned ${shortAmount(half.low)} to ${shortAmount(half.high)}.`
  const others = workers === null ? 'workers' : counted(workers - 1, 'worker')
  const shown = isAudited(view) ? pencil(shortAmount(expected)) : shortAmount(expected)
  const note = `Average of ${others} without the top one.${range}${top}`
  const bar = half === null || isAudited(view) ? null : rangeBar(half, ranges)
  return headline(shown, 'USDC a day', note, bar)
}

/** What was paid by the count of others; their days are on the page of the rail. */
function countedVolume(view: Rail): HtmlAndMarkdown {
  const volume = keptVolume(view)
  if (volume === null) return headline(unknown, '', 'Nobody has published what it pays.')
  const note = 'Volume in the days that others counted, not read by this ledger.'
  return headline(pencil(shortAmount(volume)), 'USDC', note)
}

function headline(
  figure: Inline,
  unit: string,
  note: string,
  bar: Html | null = null,
): HtmlAndMarkdown {
  const shown = inline`${figure}`
  return {
    html: html`<p class="income">
      <b>${shown.html}</b> <small>${unit}</small> <span class="sub">${note}</span> ${bar}
    </p>`,
    md: `${`${shown.md} ${unit}`.trim()}. ${note}`,
  }
}
