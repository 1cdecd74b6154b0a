/** `/changelog`: `CHANGELOG.md` of the project. */
import { para } from '../../src/pages/blocks.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { pageSource } from './page-source.ts'
import { renderMarkdown } from './prose.ts'

export const changelogPage = pageSource(['changelog', 'site'], ({ changelog, site }) => ({
  path: '/changelog',
  title: 'Changelog',
  description: 'What has changed in the interface and the service, and what is planned.',
  nav: '/docs',
  feeds: [atomFeed('/feeds/changes.atom', 'Versions')],
  body: [
    changelog === null
      ? para('This installation does not include the changelog.')
      : entries(changelog, site.url),
  ],
}))

/** Returns the entries without the first heading, which is the title of the page. */
function entries(changelog: string, siteUrl: string): HtmlAndMarkdown {
  const body = changelog.replace(/^#\s[^\n]*\n+/, '').trim()
  return { html: html`<div class="prose">${renderMarkdown(body, siteUrl)}</div>`, md: body }
}
