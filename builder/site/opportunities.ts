/** `/opportunities`: a card for each rail that pays now, highest expected income first, then what others once counted. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Opportunity } from '../../src/contract/schemas/opportunity.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { knownFigure } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import {
  actions,
  fact,
  facts,
  introduction,
  links,
  para,
  section,
  stacked,
  verdict,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { day, pencil, shortAmount, sub, time, unknown } from '../../src/pages/figures.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { railPath } from '../../src/pages/paths.ts'
import {
  doubtNote,
  doubtsOf,
  entryCost,
  incomeRange,
  isAudited,
  keptVolume,
  needs,
  railLink,
  statusPill,
} from '../../src/pages/rail-parts.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import { isAnyRailKnown } from '../documents/rail-view.ts'
import type { World } from '../world/world.ts'
import { pageSource } from './page-source.ts'
import { railParts, shownRails } from './shown-rails.ts'

const nothingKnown = 'No reading has shown yet which rails pay.'

export const opportunitiesPage = pageSource(['openFlags', ...railParts], (world) => {
  const found = opportunitiesOf(world)
  const isKnown = isAnyRailKnown(world)
  const doubts = groupBy(doubtsOf(world.openFlags), ({ rail }) => rail)
  const views = shownRails(world).map(({ view }) => view)
  const incomes = new Map(found.map((entry) => [entry.rail, entry]))
  const cardOf = (view: Rail) =>
    card(view, incomes.get(view.rail), doubts.get(view.rail) ?? [], world)
  const now = found.flatMap(({ rail }) => views.find((view) => view.rail === rail) ?? [])
  const once = views.filter(
    (view) => isAudited(view) && view.status === 'paying' && !incomes.has(view.rail),
  )
  return {
    path: '/opportunities',
    title: 'Where can my agent earn?',
    description: isKnown
      ? `${counted(found.length, 'rail')} with status paying, highest expected income first, each with its caveats.`
      : nothingKnown,
    nav: '/opportunities',
    json: ['/api/v1/opportunities'],
    body: [
      verdict(isKnown || found.length > 0 ? verdictOf(found) : nothingKnown),
      introduction(
        inline`Expected income is the average daily earnings per worker over 30 days, excluding the top earner. It is past pay of others and no promise; what we doubt is on the card. ${link('/arbitrage', 'How it is calculated')} · ${link('/match', 'Only what my agent can do')}`,
      ),
      now.length === 0
        ? para(
            inline`${isKnown ? 'No rail has the status “paying” at the moment.' : nothingKnown} See ${link('/', 'all rails')}.`,
            'empty',
          )
        : section('now', 'Paying now', cards(now.map(cardOf))),
      once.length === 0
        ? null
        : section(
            'once',
            'Paying when others last counted',
            para(
              'We have not read these rails, and the count of others is too old to say what they pay now. Every figure is theirs.',
            ),
            cards(once.map(cardOf)),
          ),
      verifyBox('/api/v1/opportunities'),
      links([
        ['/api/v1/opportunities', 'JSON'],
        ['/match', 'What can my agent earn?'],
        ['/skills', 'By skill'],
        ['/', 'All rails'],
      ]),
    ],
  }
})

function verdictOf(found: readonly Opportunity[]): string {
  const incomes = found.flatMap(({ expected_usd_per_day: income }) => income ?? [])
  const [lowest, highest] = [Math.min(...incomes), Math.max(...incomes)].map(shortAmount)
  const range = lowest === highest ? highest : `${lowest} to ${highest}`
  const without = found.length - incomes.length
  const paying = `${counted(found.length, 'rail')} ${found.length === 1 ? 'pays' : 'pay'} now.`
  return [
    paying,
    incomes.length === 0 ? '' : ` A worker earned ${range} USDC a day there on average.`,
    without === 0 ? '' : ` On ${without} of them the income is unknown.`,
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

/** `entry`: undefined if the rail does not pay now. */
function card(
  view: Rail,
  entry: Opportunity | undefined,
  doubts: readonly Flag[],
  world: Pick<World, 'nowMs'>,
): HtmlAndMarkdown {
  const name = inline`${railLink(view)}`
  const status = statusPill(view, world)
  const place = sub(`${view.category} · ${view.chain}`)
  const apply = view.sample_apply_url
  const body = stacked([
    entry === undefined ? countedVolume(view) : income(view, entry),
    doubtNote(view, doubts, world),
    facts([
      ['Entry cost', entryCost(view)],
      ['You need', needs(view)],
      fact('Last payout', view.last_payout_at, time),
      [
        'Read',
        isAudited(view) ? inline`${day(view.figures_as_of)}, by others` : time(view.figures_as_of),
      ],
    ]),
    actions([
      apply === undefined ? [view.reference_url, 'Website'] : [apply, 'Apply'],
      [railPath(view.rail), 'Rail page', 'quiet'],
    ]),
  ])
  return {
    html: html`<h3>${name.html}</h3>
      ${status.html} ${place.html} ${body.html}`,
    md: `### ${name.md}: ${status.md}\n\n${place.md}\n\n${body.md}`,
  }
}

function income(view: Rail, { expected_usd_per_day: expected }: Opportunity): HtmlAndMarkdown {
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
  return headline(shown, 'USDC a day', `Average of ${others} without the top one.${range}${top}`)
}

/** What was paid by the count of others; their days are on the page of the rail. */
function countedVolume(view: Rail): HtmlAndMarkdown {
  const volume = keptVolume(view)
  if (volume === null) return headline(unknown, '', 'Nobody has published what it pays.')
  const note = 'Volume in the days that others counted, not read by this ledger.'
  return headline(pencil(shortAmount(volume)), 'USDC', note)
}

function headline(figure: Inline, unit: string, note: string): HtmlAndMarkdown {
  const shown = inline`${figure}`
  return {
    html: html`<p class="income">
      <b>${shown.html}</b> <small>${unit}</small> <span class="sub">${note}</span>
    </p>`,
    md: `${`${shown.md} ${unit}`.trim()}. ${note}`,
  }
}
