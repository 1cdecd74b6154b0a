/** `/search`: every page by name. The script of the page hides those that do not match. */
import { groupBy } from '../../src/core/group-by.ts'
import { htmlOnly, introduction, list, section } from '../../src/pages/blocks.ts'
import { inline, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { SitePage } from '../../src/pages/page.ts'

const kinds = ['Rails', 'Skills', 'Guides', 'Pacts', 'Articles', 'Other pages'] as const

/** By the first part of the path. */
const kindOf: Readonly<Record<string, (typeof kinds)[number]>> = {
  desk: 'Articles',
  docs: 'Guides',
  feeds: 'Guides',
  pacts: 'Pacts',
  rails: 'Rails',
  skills: 'Skills',
  verify: 'Guides',
}

export function searchPage(pages: readonly SitePage[]): SitePage {
  const listed = pages.filter((page) => page.listed !== false)
  const byKind = groupBy(listed, ({ path }) => kindOf[path.split('/')[1] ?? ''] ?? 'Other pages')
  return {
    path: '/search',
    title: 'Search',
    description: 'Every rail, pact, guide, article and skill of the ledger in one list.',
    nav: '/search',
    listed: false,
    scripts: ['/assets/search.js'],
    inputs: listed.map(({ path, title, description }) => [path, title, description]),
    body: () => [
      introduction(
        inline`To open a receipt, worker or job that is not listed, enter its full id or wallet. On any page, press “/” to search.`,
      ),
      htmlOnly(
        html`<form class="filters" role="search" action="/search" autocomplete="off">
          <label
            >Words, id or wallet <input type="search" name="q" size="36" maxlength="100" /></label
          ><output role="status"></output>
        </form>`,
      ),
      ...kinds.map((kind) => {
        const entries = byKind.get(kind) ?? []
        return entries.length === 0
          ? null
          : section(
              kind.toLowerCase().replace(' ', '-'),
              kind,
              list(
                entries.map(
                  ({ path, title, description }) =>
                    inline`${link(path, untrustedText(title))} ${untrustedText(description.startsWith(title) ? description.slice(title.length) : description)}`,
                ),
              ),
            )
      }),
    ],
  }
}
