/** Navigation around a documentation page: the list of all pages, the headings of the page, and its neighbours. */
import { html } from '../../../src/pages/html.ts'
import type { Html } from '../../../src/pages/html.ts'
import { docsGroups } from '../../world/docs.ts'
import type { DocsSource } from '../../world/docs.ts'
import { referenceGroups, referencePath } from './reference.ts'

/** Pages with fewer headings get no list of headings. */
const fewestHeadings = 3

type Entry = Pick<DocsSource, 'group' | 'path' | 'title'>
export type Headings = readonly (readonly [id: string, label: string])[]

/** The side navigation is folded on narrow screens; wide ones show it beside the page. */
export function withNavigation(
  content: Html,
  page: Entry,
  headings: Headings,
  docs: readonly Entry[],
): Html {
  if (page.group === undefined) return html`<div class="docs">${content}</div>`
  const ordered = docsGroups.flatMap((group) =>
    docs
      .filter((other) => other.group === group)
      .flatMap((other) => (other.path === referencePath ? [other, ...referenceGroups] : [other])),
  )
  const at = ordered.findIndex(({ path }) => path === page.path)
  const neighbour = (to: Entry | undefined, rel: 'prev' | 'next') =>
    to &&
    html`<a rel="${rel}" href="${to.path}"
      >${rel === 'prev' ? `← ${to.title}` : `${to.title} →`}</a
    >`
  const isShown = ({ path }: Entry) =>
    !path.startsWith(`${referencePath}/`) || page.path.startsWith(referencePath)
  return html`<details class="side">
      <summary>Documentation: ${page.title}</summary>
      <nav aria-label="Documentation">
        ${docsGroups.map(
          (group) =>
            html`<p>${group}</p>
              <ul>
                ${ordered
                  .filter((other) => other.group === group && isShown(other))
                  .map((other) => entry(other, page.path))}
              </ul>`,
        )}
      </nav>
    </details>
    ${headings.length >= fewestHeadings && headingList(headings)}
    <div class="docs">
      ${content}
      <nav class="pager" aria-label="Previous and next page">
        ${neighbour(ordered[at - 1], 'prev')} ${neighbour(ordered[at + 1], 'next')}
      </nav>
    </div>`
}

function entry({ path, title }: Entry, current: string): Html {
  const mark = path === current ? html` aria-current="page"` : null
  const deeper = path.startsWith(`${referencePath}/`) ? html` class="deeper"` : null
  return html`<li${deeper}><a href="${path}" ${mark}>${title}</a></li>`
}

function headingList(headings: Headings): Html {
  return html`<details class="side toc">
    <summary>On this page</summary>
    <nav aria-label="On this page">
      <p>On this page</p>
      <ul>
        ${headings.map(([id, label]) => html`<li><a href="#${id}">${label}</a></li> `)}
      </ul>
    </nav>
  </details>`
}

export function headingsOf(body: string): Headings {
  return [...body.matchAll(/^## (.+) \{#([\w-]+)\}$/gm)].map(([, words = '', id = '']) => [
    id,
    words.replaceAll('`', ''),
  ])
}
