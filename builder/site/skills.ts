/** `/skills`: the taxonomy, by category. */
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, links } from '../../src/pages/blocks.ts'
import { code, untrustedText, join, inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { jsonAlternate } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { cell, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { railLinkOf, shownRails } from './rail-parts.ts'

export function skillsPage(
  world: Pick<World, 'nowMs' | 'pollEveryMs' | 'rails' | 'taxonomy'>,
): SitePage {
  const { note, skills } = world.taxonomy
  const rails = new Map(shownRails(world).map(({ view }) => [view.rail, view]))
  const options = skillCategories.map(
    (category) => html`<option value="${category}">${category}</option>`,
  )
  return {
    path: '/skills',
    title: 'Skills',
    description: `${counted(skills.length, 'skill')} in ${skillCategories.length} categories, each with the rails where it is sold.`,
    nav: '/docs',
    alternates: [jsonAlternate('/api/v1/skills')],
    body: [
      introduction(untrustedText(note)),
      htmlOnly(
        html`<form class="filters" data-filters="skills" autocomplete="off">
          <label
            >Category
            <select id="filter-skill">
              <option value="">all</option>
              ${options}
            </select></label
          ><output role="status">${counted(skills.length, 'skill')}</output>
        </form>`,
      ),
      table({
        id: 'skills',
        caption: 'Workers list skills by their slug.',
        columns: [
          { label: 'Skill' },
          { label: 'Description', sortable: false, wide: true },
          { label: 'Category' },
          { label: 'Sold on', sortable: false },
        ],
        rows: skills.map((skill) => ({
          id: skill.slug,
          data: { skill: skill.category },
          cells: [
            cell(
              inline`${untrustedText(skill.name)} ${code(skill.slug)}`,
              skill.name.toLowerCase(),
            ),
            untrustedText(skill.description),
            skill.category,
            skill.surface.length === 0
              ? 'no rail yet'
              : join(
                  skill.surface.map((slug) => railLinkOf(slug, rails)),
                  ', ',
                ),
          ],
        })),
        empty: 'The taxonomy is empty.',
      }),
      links([
        ['/api/v1/skills', 'JSON'],
        ['/workers', 'Workers'],
      ]),
    ],
  }
}
