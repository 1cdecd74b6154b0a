/** `/feeds`: what can be followed. */
import { links, para } from './blocks.ts'
import { code, link } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { table } from './table.ts'

const feeds = [
  ['desk', 'Articles of the desk', '/desk'],
  ['transitions', 'Changes of status', '/'],
  ['flags', 'Honesty flags', '/honesty'],
  ['changes', 'Versions of the service', '/changelog'],
] as const

export function feedsPage(): SitePage {
  return {
    path: '/feeds',
    title: 'Feeds',
    description: 'Atom and JSON feeds of articles, changes of status, honesty flags and versions.',
    nav: '/docs',
    body: [
      para('Follow the ledger with any feed reader, or poll a feed with If-None-Match.', 'lede'),
      table({
        id: 'feeds',
        caption: 'The last hundred entries of each.',
        columns: ['Feed', 'Atom', 'JSON Feed'].map((label) => ({
          label,
          sortable: false,
        })),
        rows: feeds.map(([name, title, page]) => ({
          cells: [
            link(page, title),
            link(`/feeds/${name}.atom`, code(`${name}.atom`)),
            link(`/feeds/${name}.json`, code(`${name}.json`)),
          ],
        })),
        empty: '',
      }),
      links([['/diffs/latest.md', 'What the last build changed, Markdown']]),
    ],
  }
}
