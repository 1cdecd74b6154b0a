/** `/skills` and a page for each skill: the rails that sell it, what they pay and what they ask for. */
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
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
import { pencil, shortAmount, sub, unknown } from '../../src/pages/figures.ts'
import { code, inline, link, small, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { Inline } from '../../src/pages/html-and-markdown.ts'
import { skillPath } from '../../src/pages/paths.ts'
import { isAudited, needs, payingParts, railLink, statusPill } from '../../src/pages/rail-parts.ts'
import { cell, column, fixedColumn, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { filterForm, filterStyles } from './filters.ts'
import { pageSource } from './page-source.ts'
import { byStatus, entryColumn, leadingColumns, workersColumn } from './rail-table.ts'
import { listedParts, listedRails } from './shown-rails.ts'
import type { ListedRail } from './shown-rails.ts'

const parts = ['taxonomy', ...listedParts] as const
type SkillWorld = Pick<World, (typeof parts)[number]>

export const skillsPage = pageSource(parts, (world) => {
  const { note, skills } = world.taxonomy
  const rails = railsBySkill(world)
  const sellable = skills.filter(({ slug }) => bestIncome(rails.get(slug) ?? []) !== null).length
  return {
    path: '/skills',
    title: 'Skills',
    description: `${counted(skills.length, 'skill')} in ${skillCategories.length} categories, each with the rails where it is sold.`,
    nav: '/skills',
    json: ['/api/v1/skills'],
    styles: [filterStyles],
    body: [
      verdict(
        `${counted(skills.length, 'skill')}, ${sellable} of them with a known income on a rail that pays now, without a warning or old figures.`,
      ),
      introduction(untrustedText(note)),
      actions([['/match', 'What can my agent earn?']]),
      htmlOnly(filterForm('skills', counted(skills.length, 'skill'))),
      table(skills, {
        id: 'skills',
        caption:
          'Best income: the average of the paid workers without the top one, on the best rail that we read, in USDC a day.',
        rowId: ({ slug }) => slug,
        rowData: ({ category }) => ({ category }),
        columns: [
          column('Skill', ({ name, slug, category }) =>
            cell(
              inline`${link(skillPath(slug), untrustedText(name))} ${sub(inline`${code(slug)} · ${category}`)}`,
              name.toLowerCase(),
            ),
          ),
          fixedColumn('Description', (skill) => untrustedText(skill.description), 'wide'),
          column('Best rail', ({ slug }) => bestRailCell(rails.get(slug) ?? [], world)),
          column('Best income', ({ slug }) => incomeCell(rails.get(slug) ?? []), {
            kind: 'figure',
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
  // What the pages show of a rail, once for all skills that it sells.
  const texts = new Map(
    listedRails(world).map((shown) => [shown.view.rail, soldTable([shown], world).md]),
  )
  for (const skill of world.taxonomy.skills) {
    const sold = rails.get(skill.slug) ?? []
    yield {
      path: skillPath(skill.slug),
      title: skill.name,
      description: `${skill.description} ${summary(sold)}`,
      crumb: [
        ['/skills', 'Skills'],
        [null, skill.category],
      ] as const,
      nav: '/skills',
      json: ['/api/v1/skills', 'All skills as JSON'] as const,
      inputs: [skill, sold.map(({ view }) => texts.get(view.rail))],
      body: () => [
        verdict(inline`${summary(sold)}${bestText(sold)}`),
        introduction(untrustedText(skill.description)),
        actions([
          [`/match?skill=${skill.slug}`, 'What can my agent earn?'],
          [`/view/workers?q=${skill.slug}`, 'Workers with this skill', 'quiet'],
        ]),
        section('rails', 'Where it is sold', soldTable(sold, world)),
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

function soldTable(sold: readonly ListedRail[], world: Pick<World, 'nowMs'>) {
  const [rail, status, , doubt] = leadingColumns(world)
  return table(sold, {
    id: 'sold-on',
    caption: 'Paying rails first. “Unknown” is not zero.',
    columns: [
      rail ?? null,
      status ?? null,
      column(
        'Expected',
        ({ view, offer }) => {
          const none = view.judged ? 'none: does not pay now' : inline`${unknown}: not judged`
          if (offer === undefined) return cell(none, null)
          const { expected_usd_per_day: income } = offer
          if (income === null) return cell(unknown, null)
          const text = isAudited(view) ? pencil(shortAmount(income)) : shortAmount(income)
          return cell(inline`${text} ${small('USDC a day')}`, income)
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

function railsBySkill(world: SkillWorld): ReadonlyMap<string, readonly ListedRail[]> {
  const rails = listedRails(world).toSorted(byStatus)
  return new Map(
    world.taxonomy.skills.map(({ slug, surface }: Skill) => [
      slug,
      rails.filter(({ view }) => surface.includes(view.rail)),
    ]),
  )
}

function summary(sold: readonly ListedRail[]): string {
  if (sold.length === 0) return 'No rail of this ledger sells it yet.'
  const paying = sold.filter(({ offer }) => offer !== undefined)
  const unjudged = sold.filter(({ view }) => !view.judged).length
  const rest = unjudged === 0 ? '' : `; ${unjudged} ${unjudged === 1 ? 'is' : 'are'} not judged`
  return `${paying.length} of ${counted(sold.length, 'rail')} that ${sold.length === 1 ? 'sells' : 'sell'} it ${paying.length === 1 ? 'pays' : 'pay'} now${payingParts(paying)}${rest}.`
}

function bestText(sold: readonly ListedRail[]): Inline {
  const [best, rail] = [bestIncome(sold), bestRail(sold)]
  return best === null || rail === undefined
    ? null
    : inline` The best average was ${shortAmount(best)} USDC a day, on ${railLink(rail.view)}.`
}

/** Of the rails that we read and that have no open warning. */
function bestIncome(sold: readonly ListedRail[]): number | null {
  const known = sold.flatMap(({ rank, offer }) =>
    rank === 0 ? (offer?.expected_usd_per_day ?? []) : [],
  )
  return known.length === 0 ? null : Math.max(...known)
}

/** The one with the best income; where none is known, the first by status. */
function bestRail(sold: readonly ListedRail[]): ListedRail | undefined {
  const best = bestIncome(sold)
  return (
    sold.find(({ rank, offer }) => rank === 0 && offer?.expected_usd_per_day === best) ?? sold[0]
  )
}

function bestRailCell(sold: readonly ListedRail[], world: Pick<World, 'nowMs'>) {
  const best = bestRail(sold)
  if (best === undefined) return cell('no rail yet', null)
  const more =
    sold.length === 1
      ? null
      : sub(`${bestIncome(sold) === null ? 'one' : 'best'} of ${counted(sold.length, 'rail')}`)
  const shown = inline`${railLink(best.view)} ${statusPill(best.view, world)} ${more}`
  return cell(shown, best.view.display_name.toLowerCase())
}

function incomeCell(sold: readonly ListedRail[]) {
  const best = bestIncome(sold)
  if (best !== null) return cell(shortAmount(best), best)
  if (sold.some(({ rank, offer }) => rank === 1 && offer !== undefined)) {
    return cell('in doubt', null)
  }
  const isKnown = sold.every(({ view, offer }) => view.judged && offer === undefined)
  return cell(isKnown ? 'none now' : unknown, null)
}
