/** `/skills` and a page for each skill: the rails that sell it, what they pay and what they ask for. */
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import { knownFigure } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import {
  actions,
  htmlOnly,
  introduction,
  links,
  para,
  section,
  verdict,
} from '../../src/pages/blocks.ts'
import { shortAmount, sub, unknown } from '../../src/pages/figures.ts'
import { code, inline, link, small, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { Inline } from '../../src/pages/html-and-markdown.ts'
import { skillPath } from '../../src/pages/paths.ts'
import { doubtNote, doubtsOf, needs, railLink, statusPill } from '../../src/pages/rail-parts.ts'
import { cell, column, fixedColumn, table } from '../../src/pages/table.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import type { World } from '../world/world.ts'
import { filterForm, filterStyles } from './filters.ts'
import { pageSource } from './page-source.ts'
import { byStatus, entryColumn, leadingColumns, workersColumn } from './rail-table.ts'
import { railParts, shownRails } from './shown-rails.ts'
import type { ShownRail } from './shown-rails.ts'

const parts = ['openFlags', 'taxonomy', ...railParts] as const
type SkillWorld = Pick<World, (typeof parts)[number]>

export const skillsPage = pageSource(parts, (world) => {
  const { note, skills } = world.taxonomy
  const rails = railsBySkill(world)
  const incomes = incomesOf(world)
  return {
    path: '/skills',
    title: 'Skills',
    description: `${counted(skills.length, 'skill')} in ${skillCategories.length} categories, each with the rails where it is sold.`,
    nav: '/skills',
    json: ['/api/v1/skills'],
    styles: [filterStyles],
    body: [
      introduction(untrustedText(note)),
      htmlOnly(filterForm('skills', counted(skills.length, 'skill'))),
      table(skills, {
        id: 'skills',
        caption: 'Workers list skills by their slug.',
        rowId: ({ slug }) => slug,
        rowData: ({ category }) => ({ category }),
        columns: [
          column('Skill', ({ name, slug }) =>
            cell(
              inline`${link(skillPath(slug), untrustedText(name))} ${code(slug)}`,
              name.toLowerCase(),
            ),
          ),
          fixedColumn('Description', (skill) => untrustedText(skill.description), 'wide'),
          column('Category', ({ category }) => category),
          column('Rails', ({ slug }) => railCount(rails.get(slug) ?? [], world)),
          column('Best income', ({ slug }) => bestIncome(rails.get(slug) ?? [], incomes), {
            unit: 'USDC a day',
          }),
        ],
        empty: 'The taxonomy is empty.',
      }),
      links([
        ['/api/v1/skills', 'JSON'],
        ['/match', 'What can my agent earn?'],
        ['/workers', 'Workers'],
      ]),
    ],
  }
})

export const skillPages = pageSource(parts, function* (world) {
  const rails = railsBySkill(world)
  const incomes = incomesOf(world)
  const doubts = groupBy(doubtsOf(world.openFlags), ({ rail }) => rail)
  // What the pages show of a rail, as text once for all skills that it sells.
  const texts = new Map(
    shownRails(world).map(({ record, view }) => [
      view.rail,
      JSON.stringify([
        view.display_name,
        view.category,
        view.chain,
        view.judged,
        view.status_since,
        view.status_basis,
        view.figures_source,
        knownFigure(view, 'unique_workers_30d'),
        knownFigure(view, 'top_worker_share'),
        view.entry_cost_usdc,
        view.entry_requirements,
        record.rule === null,
        record.backfill,
        statusPill(view, world).md,
        incomes.get(view.rail),
        doubtNote(view, doubts.get(view.rail) ?? [], world).md,
      ]),
    ]),
  )
  for (const skill of world.taxonomy.skills) {
    const sold = rails.get(skill.slug) ?? []
    yield {
      path: skillPath(skill.slug),
      title: skill.name,
      description: `${skill.description} ${summary(sold, incomes)}`,
      crumb: [
        ['/skills', 'Skills'],
        [null, skill.category],
      ] as const,
      nav: '/skills',
      json: ['/api/v1/skills', 'All skills as JSON'] as const,
      inputs: [skill, sold.map(({ view }) => texts.get(view.rail))],
      body: () => [
        verdict(inline`${summary(sold, incomes)}${bestText(sold, incomes)}`),
        introduction(untrustedText(skill.description)),
        actions([
          [`/match?skill=${skill.slug}`, 'What can my agent earn?'],
          [`/view/workers?q=${skill.slug}`, 'Workers with this skill', 'quiet'],
        ]),
        section('rails', 'Where it is sold', soldTable(sold, incomes, doubts, world)),
        para(
          inline`Expected income is the average daily earnings per worker over 30 days, excluding the top earner, on rails that pay now; it is no promise. ${link('/arbitrage', 'How it is calculated')}`,
          'soft',
        ),
        links([
          ['/skills', 'All skills'],
          ['/opportunities', 'All rails that pay now'],
          ['/docs/quickstart', 'Register a wallet and post a receipt'],
        ]),
      ],
    }
  }
})

function soldTable(
  sold: readonly ShownRail[],
  incomes: Incomes,
  doubts: Parameters<typeof leadingColumns>[0],
  world: Pick<World, 'nowMs'>,
) {
  const [rail, status, , doubt] = leadingColumns(doubts, world)
  return table(sold, {
    id: 'sold-on',
    caption: 'Paying rails first. “Unknown” is not zero.',
    columns: [
      rail ?? null,
      status ?? null,
      column(
        'Expected',
        ({ view }) => {
          const income = incomes.get(view.rail)
          if (income === undefined) {
            return cell(
              view.judged ? 'none: does not pay now' : inline`${unknown}: not judged`,
              null,
            )
          }
          if (income === null) return cell(unknown, null)
          return cell(inline`${shortAmount(income)} ${small('USDC a day')}`, income)
        },
        { kind: 'volume' },
      ),
      doubt ?? null,
      workersColumn,
      entryColumn,
      fixedColumn('You need', ({ view }) => needs(view), 'wide'),
    ],
    empty: 'No rail of this ledger sells it yet.',
  })
}

/** Expected income of the rails that pay now; null if it is unknown. */
type Incomes = ReadonlyMap<string, number | null>

function incomesOf(world: SkillWorld): Incomes {
  return new Map(opportunitiesOf(world).map((entry) => [entry.rail, entry.expected_usd_per_day]))
}

function railsBySkill(world: SkillWorld): ReadonlyMap<string, readonly ShownRail[]> {
  const rails = shownRails(world).toSorted(byStatus)
  return new Map(
    world.taxonomy.skills.map(({ slug, surface }: Skill) => [
      slug,
      rails.filter(({ view }) => surface.includes(view.rail)),
    ]),
  )
}

function summary(sold: readonly ShownRail[], incomes: Incomes): string {
  if (sold.length === 0) return 'No rail of this ledger sells it yet.'
  const paying = sold.filter(({ view }) => incomes.has(view.rail)).length
  const unjudged = sold.filter(({ view }) => !view.judged).length
  const rest = unjudged === 0 ? '' : `; ${unjudged} ${unjudged === 1 ? 'is' : 'are'} not judged`
  return `${paying} of ${counted(sold.length, 'rail')} that ${sold.length === 1 ? 'sells' : 'sell'} it ${paying === 1 ? 'pays' : 'pay'} now${rest}.`
}

function bestText(sold: readonly ShownRail[], incomes: Incomes): Inline {
  const best = highest(sold, incomes)
  const first = sold.find(({ view }) => incomes.get(view.rail) === best)
  return best === null || first === undefined
    ? null
    : inline` The best average was ${shortAmount(best)} USDC a day, on ${railLink(first.view)}.`
}

function highest(sold: readonly ShownRail[], incomes: Incomes): number | null {
  const known = sold.flatMap(({ view }) => incomes.get(view.rail) ?? [])
  return known.length === 0 ? null : Math.max(...known)
}

function railCount(sold: readonly ShownRail[], world: Pick<World, 'nowMs'>) {
  const [best] = sold
  if (best === undefined) return cell('no rail yet', 0)
  const status = statusPill(best.view, world)
  const more = sold.length === 1 ? null : sub(`best of ${counted(sold.length, 'rail')}`)
  return cell(inline`${status} ${more}`, sold.length)
}

function bestIncome(sold: readonly ShownRail[], incomes: Incomes) {
  const best = highest(sold, incomes)
  if (best !== null) return cell(shortAmount(best), best)
  const isKnown = sold.every(({ view }) => view.judged && !incomes.has(view.rail))
  return cell(isKnown ? 'none now' : unknown, null)
}
