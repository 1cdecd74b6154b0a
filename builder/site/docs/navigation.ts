/** Navigation around a documentation page: the list of all pages, the headings of the page, and its neighbours. */
import { contents } from '../../../src/pages/blocks.ts'
import { html } from '../../../src/pages/html.ts'
import type { Html } from '../../../src/pages/html.ts'
import { docsGroups } from '../../world/docs.ts'
import type { DocsSource } from '../../world/docs.ts'

/** Pages with fewer headings get no list of headings. */
const fewestHeadings = 3

export function withNavigation(
  content: Html,
  page: Pick<DocsSource, 'body' | 'group' | 'path'>,
  docs: readonly DocsSource[],
): Html {
  if (page.group === undefined) return content
  const ordered = docsGroups.flatMap((group) => docs.filter((other) => other.group === group))
  const at = ordered.findIndex(({ path }) => path === page.path)
  const neighbour = (to: DocsSource | undefined, rel: 'prev' | 'next') =>
    to &&
    html`<a rel="${rel}" href="${to.path}"
      >${rel === 'prev' ? `← ${to.title}` : `${to.title} →`}</a
    >`
  return html`<div class="docs">
    <div>
      ${headingsOf(page.body)}${content}
      <nav class="pager" aria-label="Previous and next page">
        ${neighbour(ordered[at - 1], 'prev')} ${neighbour(ordered[at + 1], 'next')}
      </nav>
    </div>
    <nav class="side" aria-label="Documentation">
      ${docsGroups.map(
        (group) =>
          html`<p>${group}</p>
            <ul>
              ${ordered.filter((other) => other.group === group).map((other) => entry(other, page.path))}
            </ul>`,
      )}
    </nav>
  </div>`
}

function entry({ path, title }: DocsSource, current: string): Html {
  const mark = path === current ? html` aria-current="page"` : null
  return html`<li><a href="${path}" ${mark}>${title}</a></li>`
}

function headingsOf(body: string): Html | null {
  const found = [...body.matchAll(/^## (.+) \{#([\w-]+)\}$/gm)]
  if (found.length < fewestHeadings) return null
  return contents(found.map(([, words = '', id = '']) => [`#${id}`, words.replaceAll('`', '')]))
    .html
}
