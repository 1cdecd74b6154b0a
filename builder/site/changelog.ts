/** `/changelog`: the change log of the project, as it stands in its repository. */
import { para } from '../../src/pages/blocks.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { SitePage } from '../../src/pages/page.ts'
import type { World } from '../world/world.ts'
import { renderMarkdown } from './prose.ts'

export function changelogPage({ changelog, site }: Pick<World, 'changelog' | 'site'>): SitePage {
  return {
    path: '/changelog',
    title: 'Changes',
    description: 'What changed in the interface and the service, and what is going to.',
    nav: '/docs',
    alternates: [{ type: 'application/atom+xml', href: '/feeds/changes.atom', title: 'Versions' }],
    body: [
      changelog === null
        ? para('This installation came without its change log.')
        : entries(changelog, site.url),
    ],
  }
}

/** Without the first heading, which the page has itself. */
function entries(changelog: string, siteUrl: string): HtmlAndMarkdown {
  const body = changelog.replace(/^#\s[^\n]*\n+/, '').trim()
  return { html: html`<div class="prose">${renderMarkdown(body, siteUrl)}</div>`, md: body }
}
