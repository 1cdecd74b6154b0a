/** `/skills`: the taxonomy, by category. */
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, links } from '../../src/pages/blocks.ts'
import { code, link, untrustedText, join, inline } from '../../src/pages/html-and-markdown.ts'
import type { Inline } from '../../src/pages/html-and-markdown.ts'
import { cell, column, fixedColumn, table } from '../../src/pages/table.ts'
import { filterForm, filterStyles } from './filters.ts'
import { pageSource } from './page-source.ts'
import { railLinkOf, railParts, shownRails, statusPill } from './rail-parts.ts'

export const skillsPage = pageSource(['taxonomy', ...railParts], (world) => {
  const { note, skills } = world.taxonomy
  const rails = new Map(shownRails(world).map(({ view }) => [view.rail, view]))
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
            cell(inline`${untrustedText(name)} ${code(slug)}`, name.toLowerCase()),
          ),
          fixedColumn('Description', (skill) => untrustedText(skill.description), 'wide'),
          column('Category', ({ category }) => category),
          fixedColumn(
            'Sold on',
            (skill) => inline`${soldOn(skill.surface, rails, world)} ${findLink(skill)}`,
          ),
        ],
        empty: 'The taxonomy is empty.',
      }),
      links([
        ['/api/v1/skills', 'JSON'],
        ['/workers', 'Workers'],
      ]),
    ],
  }
})

/** Opens the rails that sell the skill, with their expected income. */
function findLink({ slug, surface }: Skill): Inline | null {
  return surface.length === 0 ? null : link(`/match?skill=${slug}`, 'income')
}

function soldOn(
  slugs: readonly string[],
  rails: ReadonlyMap<string, Rail>,
  world: Parameters<typeof statusPill>[1],
): Inline {
  const statuses = slugs.map((slug) => rails.get(slug)?.status)
  const linked = slugs.map((slug) => {
    const rail = rails.get(slug)
    return inline`${railLinkOf(slug, rails)}${rail === undefined ? '' : inline` ${statusPill(rail, world)}`}`
  })
  if (linked.length === 0) return 'no rail yet'
  const isDormant = statuses.every((status) => status === 'dormant')
  return inline`${isDormant ? 'only on dormant rails: ' : ''}${join(linked, ', ')}`
}
