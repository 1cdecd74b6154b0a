/** Filters of tables. The style sheet hides rows, so they work without JavaScript; the script only counts visible rows. */
import { railCategory, railChain, railStatus } from '../../src/contract/schemas/rail.ts'
import { skillCategories } from '../../src/contract/schemas/skill.ts'
import { capitalized } from '../../src/core/number-text.ts'
import { notJudgedWord } from '../../src/pages/figures.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { unarchived } from '../documents/document.ts'
import type { PublicDocument } from '../publish/document.ts'

export const statusWords: readonly string[] = [...railStatus.options, notJudgedWord]

/** By table: the values of each `data-` attribute of a row. */
const filters = {
  rails: {
    status: statusWords,
    chain: railChain.options,
    category: railCategory.options,
  },
  skills: { category: skillCategories },
} satisfies Record<string, Record<string, readonly string[]>>

export const filterStyles = '/assets/filters.css'

export function filterStylesDocument(): PublicDocument {
  const selectors = Object.entries<Record<string, readonly string[]>>(filters).flatMap(
    ([table, fields]) =>
      Object.entries(fields).flatMap(([name, values]) =>
        values.map(
          (value) =>
            `main:has(#filter-${name} option[value="${value}"]:checked) #${table} tbody tr:not([data-${name}="${value}"])`,
        ),
      ),
  )
  const text = `${selectors.join(',\n')} { display: none; }\n`
  return unarchived(filterStyles, 'text/css; charset=utf-8', 86_400, { text })
}

/** `all`: the number of rows in words. */
export function filterForm(table: keyof typeof filters, all: string): Html {
  const select = ([name, values]: [string, readonly string[]]) =>
    html`<label
      >${capitalized(name)}
      <select id="filter-${name}">
        <option value="">any</option>
        ${values.map((value) => html`<option value="${value}">${value}</option>`)}
      </select></label
    >`
  return html`<form class="filters" data-filters="${table}" autocomplete="off">
    ${Object.entries<readonly string[]>(filters[table]).map(select)}<output role="status"
      >${all}</output
    >
  </form>`
}
