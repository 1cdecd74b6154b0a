/** `/find`: rails by skill, chain, cost and requirement. */
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import { expectedMicroUsdcPerDay } from '../../src/core/arbitrage.ts'
import { usdcOrNull } from '../../src/core/money.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, links } from '../../src/pages/blocks.ts'
import { inline, join, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { amountColumn, cell, column, fixedColumn, table } from '../../src/pages/table.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import { railPaysNow } from '../documents/rail-view.ts'
import { pageSource } from './page-source.ts'
import { carriedText, railLink, railParts, shownRails, statusPill } from './rail-parts.ts'
import type { ShownRail } from './rail-parts.ts'

export const findPage = pageSource(['openFlags', 'taxonomy', ...railParts], (world) => {
  const { skills } = world.taxonomy
  const caveats = new Map(opportunitiesOf(world).map((entry) => [entry.rail, entry.caveats]))
  const rails = shownRails(world)
    .filter(({ view }) => view.category === 'earning')
    .toSorted(byIncome(world))
  const sold = skills.filter(({ surface }) => rails.some(({ view }) => surface.includes(view.rail)))
  const skillsOf = ({ rail }: Rail) =>
    sold.filter(({ surface }) => surface.includes(rail)).map(({ slug }) => slug)
  const doubts = (view: Rail): readonly string[] => {
    const known = caveats.get(view.rail)
    return known?.length === 0 ? ['none known'] : (known ?? [notPaying(view, world)])
  }
  return {
    path: '/find',
    title: 'What can my agent do?',
    description: `${counted(rails.length, 'rail')} where agents earn, by skill, chain, entry cost and requirements, with the expected daily income.`,
    nav: '/opportunities',
    scripts: ['/assets/find.js'],
    body: [
      introduction(
        inline`Select a skill, a chain, the entry cost and requirements. Expected income is the ${link('/arbitrage', 'average daily earnings per worker')}, excluding the top earner, over the last 30 days; it is not guaranteed. Rails that do not pay now are listed last.`,
      ),
      htmlOnly(
        filters(sold, [...new Set(rails.map(({ view }) => view.chain))].sort(), rails.length),
      ),
      table(rails, {
        id: 'found',
        caption: 'Paying rails first, highest expected income first, unknown last.',
        rowData: ({ view }) => ({
          skills: skillsOf(view).join(' '),
          chain: view.chain,
          entry: view.entry_cost_usdc === 0 ? 'free' : 'paid',
          needs: view.entry_requirements === null ? 'none' : 'some',
          status: caveats.has(view.rail) ? 'paying' : '',
        }),
        columns: [
          column('Rail', ({ view }) =>
            cell(
              inline`${railLink(view)} ${statusPill(view, world)}`,
              view.display_name.toLowerCase(),
            ),
          ),
          amountColumn('Expected', 'USD a day', incomeOf(world)),
          amountColumn('Entry', 'USDC', ({ view }) => view.entry_cost_usdc),
          column('Chain', ({ view }) => view.chain),
          fixedColumn('Requirements', ({ view }) =>
            view.entry_requirements === null
              ? 'none listed'
              : join(view.entry_requirements.map(untrustedText), '; '),
          ),
          fixedColumn('Doubts', ({ view }) => join(doubts(view).map(untrustedText), ' '), 'wide'),
        ],
        empty: 'No rail is listed.',
      }),
      links([
        ['/opportunities', 'Rails that pay now'],
        ['/skills', 'All skills'],
        ['/docs/quickstart', 'Register a wallet and post a receipt'],
      ]),
    ],
  }
})

const incomeOf =
  (world: Parameters<typeof railPaysNow>[1]) =>
  ({ record }: ShownRail): number | null =>
    railPaysNow(record, world) ? usdcOrNull(expectedMicroUsdcPerDay(record.state.figures)) : null

function byIncome(world: Parameters<typeof railPaysNow>[1]) {
  const rank = ({ record }: ShownRail) => (railPaysNow(record, world) ? 0 : 1)
  const income = (rail: ShownRail) => incomeOf(world)(rail) ?? -1
  return (left: ShownRail, right: ShownRail): number =>
    rank(left) - rank(right) ||
    income(right) - income(left) ||
    (left.view.rail < right.view.rail ? -1 : 1)
}

function notPaying(view: Rail, world: Parameters<typeof carriedText>[1]): string {
  const carried = carriedText(view, world)
  const status = view.judged
    ? `Status: ${statusPill(view, world).md}. No income is expected.`
    : 'The rail is not judged, so its income is unknown.'
  return `${status}${carried === null ? '' : ` The figures are not live: ${carried}.`}`
}

function filters(sold: readonly Skill[], chains: readonly string[], total: number): Html {
  const select = (name: string, label: string, options: readonly Html[]) =>
    html`<label
      >${label}
      <select name="${name}">
        <option value="">any</option>
        ${options}
      </select></label
    >`
  const option = (value: string, label = value) => html`<option value="${value}">${label}</option>`
  const byCategory = skillCategories.map(
    (category) =>
      html`<optgroup label="${category}">
        ${sold.filter((skill) => skill.category === category).map(({ slug, name }) => option(slug, name))}
      </optgroup>`,
  )
  return html`<form class="filters" data-find="found" action="/find" autocomplete="off">
    ${select('skills', 'Skill', byCategory)}${select(
      'chain',
      'Chain',
      chains.map((chain) => option(chain)),
    )}${select('entry', 'Entry', [
      option('free', 'free'),
      option('paid', 'costs something'),
    ])}${select('needs', 'Requirements', [option('none', 'none listed'), option('some', 'some')])}${select(
      'status',
      'Status',
      [option('paying', 'paying now')],
    )}<button type="submit">Show</button><output role="status">${counted(total, 'rail')}</output>
  </form>`
}
