/** `/search`: every page by name. The script of the page hides those that do not match. */
import { htmlOnly, introduction, list } from '../../src/pages/blocks.ts'
import { sub } from '../../src/pages/figures.ts'
import { inline, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { SitePage } from '../../src/pages/page.ts'

/** By the first part of the path. */
const kinds: Readonly<Record<string, string>> = {
  desk: 'article',
  docs: 'guide',
  feeds: 'guide',
  pacts: 'pact',
  rails: 'rail',
  skills: 'skill',
  verify: 'guide',
}

export function searchPage(pages: readonly SitePage[]): SitePage {
  const listed = pages.filter((page) => page.listed !== false)
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
      list(
        listed.map(
          ({ path, title, description }) =>
            inline`${link(path, untrustedText(title))} ${sub(kinds[path.split('/')[1] ?? ''] ?? 'page')} ${untrustedText(description)}`,
        ),
      ),
    ],
  }
}
