/** `/skills`: the taxonomy, by category. */
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import { counted } from '../../src/core/number-text.ts'
import type { World } from '../world/world.ts'
import { htmlOnly, links, para } from './blocks.ts'
import { code, untrustedText, join, inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { SitePage } from './page.ts'
import { railLinkOf, shownRails } from './rail-parts.ts'
import { cell, table } from './table.ts'

export function skillsPage(world: World): SitePage {
  const { note, skills } = world.taxonomy
  const rails = new Map(shownRails(world).map(({ view }) => [view.rail, view]))
  const options = skillCategories.map(
    (category) => html`<option value="${category}">${category}</option>`,
  )
  return {
    path: '/skills',
    title: 'Skills',
    description: `${counted(skills.length, 'skill')} in ${skillCategories.length} categories, each with the rails on which it is sold.`,
    nav: '/docs',
    alternates: [{ type: 'application/json', href: '/api/v1/skills', title: 'JSON' }],
    body: [
      para(untrustedText(note), 'lede'),
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
        caption: 'The slug is what a worker lists.',
        columns: [
          { label: 'Skill' },
          { label: 'What it is', sortable: false, wide: true },
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
              ? 'nowhere yet'
              : join(
                  skill.surface.map((slug) => railLinkOf(slug, rails)),
                  ', ',
                ),
          ],
        })),
        empty: 'The taxonomy is empty.',
      }),
      links([
        ['/api/v1/skills', 'As JSON'],
        ['/workers', 'Workers'],
      ]),
    ],
  }
}
