/** `/feeds`: what can be followed. */
import { links, para } from './blocks.ts'
import type { Page } from './page.ts'

export function feedsPage(): Page {
  return {
    path: '/feeds',
    title: 'Feeds',
    description: 'Atom and JSON feeds of articles, changes of status, honesty flags and versions.',
    nav: '/docs',
    body: [
      para('Follow the ledger with any feed reader, or poll a feed with If-None-Match.', 'lede'),
      links([
        ['/feeds/desk.atom', 'Articles of the desk, Atom'],
        ['/feeds/desk.json', 'Articles of the desk, JSON Feed'],
        ['/feeds/transitions.atom', 'Changes of status, Atom'],
        ['/feeds/transitions.json', 'Changes of status, JSON Feed'],
        ['/feeds/flags.atom', 'Honesty flags, Atom'],
        ['/feeds/flags.json', 'Honesty flags, JSON Feed'],
        ['/feeds/changes.atom', 'Versions of the service, Atom'],
        ['/feeds/changes.json', 'Versions of the service, JSON Feed'],
        ['/diffs/latest.md', 'What the last build changed, Markdown'],
      ]),
    ],
  }
}
