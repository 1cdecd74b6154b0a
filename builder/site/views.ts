/** Pages that the script fills from the API: one for each kind of thing of which only the newest have their own page. */
import { viewPages } from '../../src/core/site-pages.ts'
import { code, inline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { SitePage } from './page.ts'

const views = [
  { kind: '/receipts', name: 'receipt', id: '{id}', nav: '/receipts' },
  { kind: '/workers', name: 'worker', id: '{wallet}', nav: '/leaderboard' },
  { kind: '/jobs', name: 'job', id: '{id}', nav: '/opportunities' },
  { kind: '/partners', name: 'partner', id: '{handle}', nav: '/docs' },
] as const

export function* viewPagesOf(): Generator<SitePage> {
  for (const { kind, name, id, nav } of views) {
    yield {
      path: viewPages[kind],
      title: `A ${name} of the ledger`,
      description: `Any ${name} that the ledger holds, asked of its API.`,
      nav,
      listed: false,
      robots: 'noindex',
      body: [
        view(
          name,
          inline`Any ${name} of the ledger is answered as JSON at ${code(`/api/v1${kind}/${id}`)}, and shown to people at ${code(`${kind}/${id}`)}.`,
        ),
      ],
    }
  }
}

function view(name: string, { html: words, md }: HtmlAndMarkdown): HtmlAndMarkdown {
  return {
    html: html`<div data-view="${name}">
      <p>${words}</p>
      <noscript><p>This page needs JavaScript; the JSON does not.</p></noscript>
    </div>`,
    md,
  }
}
